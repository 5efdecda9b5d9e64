"""The programs of the site's pages, run as a reader would run them, and what they print compared with what the pages show."""
