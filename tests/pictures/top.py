"""A picture of `fleet top` over the demo, at the moment when an agent asks.

python -m tests.pictures.top
"""

import asyncio
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from fleet import control
from fleet.demo.demo_home import DemoHome, Interrupts
from fleet.demo.run_demo import Demo
from fleet.demo.summary import DemoRow
from fleet.tui.app import TopApp

PICTURE = Path(__file__).parents[2] / "docs/pictures/top.png"
SIZE = (116, 36)
#: Fonts that textual names and that a browser would fetch from elsewhere.
_FONT_FACE = re.compile(r"@font-face \{.*?\}", re.DOTALL)


def write_picture(path: Path = PICTURE) -> None:
    """Play the demo, and take the picture while an agent asks and others work."""
    with tempfile.TemporaryDirectory(prefix="fleet-demo-") as folder:
        place = DemoHome(Path(folder), Interrupts())
        taken: list[str] = []

        def show(rows: Sequence[DemoRow]) -> None:
            states = [row.state for row in rows]
            if not taken and "asking" in states and "running" in states:
                taken.append(asyncio.run(_screen(place.env)))

        try:
            Demo(place, lambda _text, _style: None, show).run()
        finally:
            place.stop()
        _as_png(taken[0], path)


async def _screen(env: Mapping[str, str]) -> str:
    """The screen as SVG, with the transcript of a running task below the list."""
    app = TopApp(lambda: control.opened(env))
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(200):
            await pilot.pause(0.05)
            if app.now is not None and app.now.rows:
                break
        await pilot.pause(1.0)
        return app.export_screenshot(title="fleet top", simplify=True)


def _as_png(svg: str, path: Path) -> None:
    """Have a browser draw it: no font is fetched."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    assert browser is not None, "chromium is not installed"
    plain = _FONT_FACE.sub("", svg).replace("Fira Code", "DejaVu Sans Mono")
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', plain)
    assert size is not None
    width, height = (round(float(each)) for each in size.groups())
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "top.html"
        page.write_text(f'<body style="margin:0">{plain}</body>', encoding="utf-8")
        subprocess.run(
            [browser, "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu",
             f"--window-size={width},{height}", f"--screenshot={path}", page.as_uri()],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip


if __name__ == "__main__":
    write_picture()
