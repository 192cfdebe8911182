"""Tables of a run, as CSV and Markdown."""
