"""Numbers from what reader.py reads: rows of tables, and what figures draw. No output."""
