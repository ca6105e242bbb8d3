"""Shared set-up of the tests."""

import os
import shutil

# before NumPy is loaded: workers whose BLAS starts a thread for every core spend most of their time on waiting
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
os.environ["FRANKWOLFE_QUIET"] = "1"  # notices that code is compiled would come or not, by what the cache holds

import pytest
from hypothesis import HealthCheck, settings

import frankwolfe as fw
from frankwolfe.running.driver import Driver

settings.register_profile("suite", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.fixture(autouse=os.environ.get("FRANKWOLFE_TESTS_IN_PYTHON") == "1")
def interpreted():
    """Run the test's kernels as plain Python."""
    with fw.python_mode():
        yield


@pytest.fixture
def ctrl_c(monkeypatch):
    """Return what interrupts one of the runs to come, at one of its looks at the gap."""

    def interrupt(run, look=1):
        looked, real = [], Driver._look

        def checkpoint(driver):
            looked.append(driver)
            if len({*map(id, looked)}) == run and looked.count(driver) == look:
                raise KeyboardInterrupt
            return real(driver)

        monkeypatch.setattr(Driver, "_look", checkpoint)

    return interrupt


CHROMIUM_FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


def browser_programs():
    """Paths of a browser and its driver, None where one is missing."""
    return {name: shutil.which(name) for name in ("chromium", "chromedriver")}


def pytest_terminal_summary(terminalreporter):
    """Say once how to get a browser where tests have missed one."""
    missing = [name for name, path in browser_programs().items() if path is None]
    if (
        any("is not installed" in str(report.longrepr) for report in terminalreporter.stats.get("skipped", []))
        and missing
    ):
        terminalreporter.write_line(
            f"Pages were not tested in a browser: {' and '.join(missing)} not found. "
            "On Debian and Ubuntu: apt-get install chromium chromium-driver"
        )


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless browser; skips where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    programs = browser_programs()
    for name, path in programs.items():
        if path is None:
            pytest.skip(f"{name} is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for flag in [*CHROMIUM_FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs["chromedriver"]))
    yield driver
    driver.quit()
