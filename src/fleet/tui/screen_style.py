"""How the parts of the screen of `fleet top` look: sixteen colours of the terminal's own."""

STYLE = """
Screen { background: ansi_default; }
#top, #place, #said, #keys, #tabs, #form-keys { height: 1; }
#panes { height: 1fr; }
#list { width: 1fr; }
#right { width: 1fr; border-left: solid ansi_bright_black; padding-left: 1; }
.single #right { border-left: none; padding-left: 0; }
.below #panes { layout: vertical; }
.below #right { border-left: none; padding-left: 0; border-top: solid ansi_bright_black; }
.below #list, .below #right { width: 100%; }
#detail { height: 1fr; }
.hidden { display: none; }
ModalScreen { align: center middle; background: ansi_default 0%; }
.form { width: 90%; max-width: 100; height: auto; max-height: 96%; padding: 0 1;
        border: round ansi_magenta; background: ansi_default; }
.form.whole { height: 90%; }
.form TextArea { height: 8; border: solid ansi_bright_black; background: ansi_default; }
.form #description { height: 6; }
.form Input { background: ansi_default; border-bottom: solid ansi_bright_black; height: 2; }
.form .head { text-style: bold; }
.form .dim { text-style: dim; }
.line { dock: bottom; height: 1; background: ansi_default; }
.line Input { background: ansi_default; }
"""
