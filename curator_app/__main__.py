"""`python -m curator_app` is the command `histocurator`."""

from curator_app.cli import main

if __name__ == "__main__":
    main()
