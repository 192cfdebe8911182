/* Made for the test: never compiled; its collector does not start. */
