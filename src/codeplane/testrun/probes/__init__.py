"""Small programs that run inside a test process of the project and tell each result as it happens.

They use nothing but the standard library of the interpreter that runs them, and write one JSON object per line into
the file that `CODEPLANE_EVENTS` names. So a process that is killed in the middle still leaves what it had done.
"""
