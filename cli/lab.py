"""``./study lab``: JupyterLab on the notebooks, with the kernel of this clone."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence

from cli import paths


def command(words: Sequence[str]) -> int:
    """Replace this process by JupyterLab; further words are its own options."""
    runtime = tempfile.mkdtemp(prefix="probetax-lab-")
    variables = {
        **os.environ,
        "JUPYTER_RUNTIME_DIR": runtime,
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    options = [f"--ServerApp.root_dir={paths.NOTEBOOKS}"]
    if os.geteuid() == 0:
        print("probetax: you are root, so JupyterLab will be too; as a user only the runner is")
        options.append("--allow-root")
    os.execve(sys.executable, [sys.executable, "-m", "jupyterlab", *options, *words], variables)
