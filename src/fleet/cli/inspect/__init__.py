"""`fleet tasks`, `fleet task`, `fleet top`, `fleet web`: what runs, and what a run left."""
