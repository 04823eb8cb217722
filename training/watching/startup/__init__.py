"""A folder for PYTHONPATH: Python imports the `sitecustomize` in it before it runs a script."""
