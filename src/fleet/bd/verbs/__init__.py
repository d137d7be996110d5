"""One module for each family of bd commands; `fleet.bd.command_table` names them all."""
