"""Traces: what is told of tasks and runs to a receiver of OpenTelemetry, and by which process."""
