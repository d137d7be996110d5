"""`fleet bd`, `fleet ready`, `fleet show`: the queue as a tracker."""
