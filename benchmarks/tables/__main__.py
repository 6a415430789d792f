"""All pages of benchmarks/results, and their index: python -m benchmarks.tables"""

from __future__ import annotations

from benchmarks.tables.index import main

if __name__ == "__main__":
    main()
