"""`fleet tasks`, `fleet task`: what runs, and what a run left."""
