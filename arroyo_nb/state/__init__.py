"""What survives a run: whose state a folder holds, and whether a run may resume.

Whether two queries share their state is decided by :mod:`arroyo_nb.state.identity`,
data that is made for that purpose, and never by text that is made for people.
"""
