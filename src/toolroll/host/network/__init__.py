"""The network of commands: a proxy of ours outside the sandbox, which connects to the hosts that the policy names.

The front is `command_network.CommandNetwork`. May import: `host.http`, `host.approval`, `host.runtime`, `policy`,
`result`.
"""
