"""What an operator watches fleet with: figures for Prometheus."""
