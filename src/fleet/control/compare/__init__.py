"""One task given to several coders: begin, results, finish."""
