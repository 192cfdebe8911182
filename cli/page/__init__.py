"""The parts of the report: notebooks, figures and documents as the HTML of one page."""
