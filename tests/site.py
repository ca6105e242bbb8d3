"""Check a site that was built: ``python -m tests.site out/site``; ``make docs`` does so.

Every link to a page of the site leads to one, every anchor is there, and no page loads anything from another host. If
Chromium is installed, the main pages are opened, on a screen and on a phone, light and dark: nothing may be wider than
the window, and the console must stay free of errors. ``--shots folder`` keeps pictures of them, to be looked at.
"""

import argparse
import functools
import http.server
import json
import sys
import tempfile
import threading
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.conftest import CHROMIUM_FLAGS, browser_programs

PAGES = (
    "index.html",
    "start.html",
    "conditions.html",
    "gallery/index.html",
    "reference/index.html",
    "gallery/portfolio.html",
    "reference/generated/frankwolfe.minimize.html",
    "search.html?q=simplex",
)
SIZES = {"screen": (1280, 900), "phone": (390, 844)}
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
WIDE = """return [...document.querySelectorAll('body *')].filter(part =>
    part.getBoundingClientRect().right > window.innerWidth + 1 && getComputedStyle(part).overflowX == 'visible'
    && !part.closest('pre, table, .highlight, .math')).map(part => part.tagName + '.' + part.className).slice(0, 5)"""


class Page(HTMLParser):
    """The anchors of a page, the addresses that it links to, and those that it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names, links to or loads."""
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if LOADED.get(tag) in values and values.get("rel") not in ("next", "prev", "search", "index", "author"):
            self.loads.append(values[LOADED[tag]])


def faults(site: Path) -> list[str]:
    """Return what is wrong with the links of a site, in a line each; empty if nothing is."""
    paths = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)  # there are templates
    pages = {path: Page(path) for path in paths}
    found = []
    for path, page in pages.items():
        for address in [*page.links, *page.loads]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loads and parts.scheme != "data":
                    found.append(f"{path.relative_to(site)} loads {address} from another host")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{path.relative_to(site)} links to {address}, which does not exist")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{path.relative_to(site)} links to {address}, a page without that anchor")
    return found


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def opened(site: Path, shots: Path | None) -> list[str]:
    """Open the main pages in a browser, and return what is wrong with them, in a line each."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        driver = browser(profile)
        try:
            home = f"http://127.0.0.1:{server.server_port}/"
            cases = [(page, size, theme) for page in PAGES for size in SIZES for theme in ("light", "dark")]
            return [
                f"{page}, {size}, {theme}: {fault}"
                for page, size, theme in cases
                for fault in looked_at(driver, home, page, size, theme, shots)
            ]
        finally:
            driver.quit()
            server.shutdown()


def browser(profile: str):
    """Return a driver of headless Chromium that logs what a page says and requests."""
    from selenium import webdriver

    programs, options = browser_programs(), webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for flag in [*CHROMIUM_FLAGS.split(), f"--user-data-dir={profile}", "--hide-scrollbars"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs["chromedriver"]))
    driver.get("about:blank")
    driver.get_log("performance")  # what the browser's own first page has loaded
    return driver


def looked_at(driver, home: str, page: str, size: str, theme: str, shots: Path | None) -> list[str]:
    """Open one page and return what is wrong with it."""
    width, height = SIZES[size]
    window = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    driver.get(home + "genindex.html")
    driver.execute_script(f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}')")
    driver.get(home + page)
    if "search" in page:
        await_results(driver)
    found = []
    if driver.execute_script("return document.documentElement.dataset.theme") != theme:
        found.append("the theme is another one")
    if driver.execute_script("return document.documentElement.scrollWidth") > width:
        found.append(f"wider than the window: {driver.execute_script(WIDE)}")
    found += [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    for entry in driver.get_log("performance"):
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.requestWillBeSent":
            address = event["params"]["request"]["url"]
            if not address.startswith((home, "data:")):
                found.append(f"requests {address}")
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
        name = page.partition(".html")[0].replace("/", "-")
        driver.save_screenshot(str(shots / f"{name}-{size}-{theme}.png"))
    return found


def await_results(driver, seconds: float = 60.0) -> None:
    """Wait until the search has found pages."""
    end = time.monotonic() + seconds
    while not driver.find_elements("css selector", "#search-results ul.search li"):
        if time.monotonic() > end:
            raise SystemExit("The search finds no pages.")
        time.sleep(0.2)


def main() -> None:
    """Check a site and exit with an error if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--shots", type=Path, help="a folder for pictures of the pages")
    options = parser.parse_args()
    found = faults(options.site.resolve())
    if all(browser_programs().values()):
        found += opened(options.site.resolve(), options.shots)
    else:
        print("Pages were not opened: chromium or chromedriver is not installed.")
    if found:
        sys.exit("\n".join(found))
    print(f"{options.site}: links and pages are in order")


if __name__ == "__main__":
    main()
