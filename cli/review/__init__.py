"""``./study review``: for a reviewer with two hours, from the doctor to a table of claims."""

#: The most that a review plans to take, in minutes.
MINUTES = 100
