"""Programs that only read, with the options that they may have. Front: `table.READERS`. Imports only `parse`."""
