"""Engines of the fleet: frozen copies of workspaces, and what their leases share with them.

Fronts: `frozen`, `lease_files`, `lease_capture`, `lease_limits`, `worker_pool`.
"""
