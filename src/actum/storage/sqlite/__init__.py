"""SQLite: rows in one file, for many processes. `backend` is its door; `reader` and `writer` say who works when."""
