"""One module for each family of bd commands; `fleet.bd.command_line` names them all."""
