"""Raw data to tables, tests and figures. No root, no Linux, and never an import of `experiment`."""
