"""What Kubernetes says about pods and nodes: its objects in JSON, and kube-state-metrics over time."""
