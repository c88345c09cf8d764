"""Figures, tables and a report from the HDF5 files of a run: `python3 -m postprocess COMMAND RUN`."""
