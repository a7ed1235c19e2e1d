"""Running a script as a job: for weeks, without anybody who looks on."""
