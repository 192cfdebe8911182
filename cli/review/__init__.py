"""``./study review``: for a reviewer with two hours, from the doctor to a table of claims."""
