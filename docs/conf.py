"""Settings of the documentation site: ``make docs`` builds it from the Markdown pages beside this file."""

import re
import sys
from pathlib import Path
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "examples"))  # examples import what lies beside them

import frankwolfe as fw  # noqa: E402

project = "frankwolfe"
author = copyright = "the frankwolfe developers"
version = release = fw.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
]
exclude_patterns = ["_templates", "gallery/*.md5", "gallery/*.py", "gallery/*.ipynb", "gallery/*.json", "gallery/*.zip"]
templates_path = ["_templates"]
default_role = "autolink"  # `minimize` in a docstring links to its page

myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
# "source:" stands for pages of source code, which `source_pages` makes
myst_url_schemes = {"http": None, "https": None, "mailto": None, "source": "source/{{path}}.html#{{fragment}}"}

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # numpydoc says the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/(?!gallery)\w+\.py$",
    "ignore_pattern": r"(^|/)gallery\.py$",
    "reset_argv": lambda gallery, vars: ["--out", str(ROOT / "out" / "gallery.png")],  # the picture is taken open
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "within_subsection_order": "ExampleTitleSortKey",
    "plot_gallery": "True",
    "abort_on_example_error": True,
}

suppress_warnings = ["config.cache"]  # sphinx_gallery_conf has a function in it
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

highlight_language = "text"  # of blocks that name none

html_theme = "pydata_sphinx_theme"
html_title = "frankwolfe"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars: dict[str, list[str]] = {"index": [], "start": []}  # these have no section to navigate

# Files of the repository that are pages of the site, too
PAGES = {
    "../README.md": "index.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "../examples/README.md": "gallery/index.rst",
}
LINK = re.compile(r"\]\((\.\./[\w./-]+)(?:#L(\d+))?\)")


def site_links(text: str) -> str:
    """Return a Markdown page in which links to files outside of ``docs/`` lead to pages of the site."""

    def replaced(link: re.Match) -> str:
        path, line = link[1], link[2] or "1"
        if path in PAGES:
            return f"]({PAGES[path]})"
        if path.startswith("../examples/") and path.endswith(".py"):
            return f"](gallery/{Path(path).stem}.rst)"
        if path.endswith(".py"):
            return f"](source:{path.removeprefix('../').removesuffix('.py')}#L-{line})"
        return link[0]

    return LINK.sub(replaced, text)


def rewrite_links(app: Any, docname: str, source: list[str]) -> None:
    """Make the links of a page those of the site. The files themselves keep links that a forge follows."""
    source[0] = site_links(source[0])


def source_pages(app: Any) -> Any:
    """Yield a page for every source file that a page links to, with an anchor for every line."""
    pages = [path.read_text(encoding="utf-8") for path in HERE.glob("*.md")]
    paths = {link[1] for page in pages for link in LINK.finditer(page) if link[1].endswith(".py")}
    formatter = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True)
    for path in sorted(path.removeprefix("../") for path in paths if not path.startswith("../examples")):
        code = highlight((ROOT / path).read_text(encoding="utf-8"), PythonLexer(), formatter)
        yield f"source/{path.removesuffix('.py')}", {"title": path, "body": f"<h1>{path}</h1>{code}"}, "page.html"


THUMBNAIL = re.compile(r"\n\.\. raw:: html\n\n    <div class=\"sphx-glr-thumbcontainer.*?\n    </div>\n", re.S)
TITLE = re.compile(r'thumbnail-title">([^:<]+)')
OPEN = '.. raw:: html\n\n    <div class="sphx-glr-thumbnails">\n'
CLOSE = ".. raw:: html\n\n    </div>\n"


FIELDS = {  # of the gallery, with the words that the titles of their examples begin with
    "Marketing": ["Marketing"],
    "Insurance": ["Insurance"],
    "Finance": ["Finance"],
    "Policy evaluation": ["Policy"],
    "Fairness": ["Fairness"],
    "Medicine and engineering": ["Medicine", "Engineering"],
    "Text and images": ["Text", "Images"],
    "Recommender systems": ["Recommender"],
    "Large data": ["Clusters", "Streams"],
    "Choosing and combining models": ["Choosing a radius", "Robust regression", "Stacking"],
    "Research": ["Research"],
}


def grouped(page: str) -> str:
    """Return the gallery's page with its examples under headings, one for each field."""
    thumbnails = THUMBNAIL.findall(page)
    fields: dict[str, list[str]] = {field: [] for field in FIELDS}
    named = {word: field for field, words in FIELDS.items() for word in words}
    for thumbnail in thumbnails:
        word = TITLE.search(thumbnail)[1]
        if word not in named:
            raise LookupError(f"No field of the gallery has titles that begin with {word!r}: add it to FIELDS")
        fields[named[word]].append(thumbnail)
    start, end = page.index(OPEN), page.rindex(thumbnails[-1]) + len(thumbnails[-1])
    groups = [f"{field}\n{'-' * len(field)}\n\n{OPEN}{''.join(inside)}\n{CLOSE}" for field, inside in fields.items()]
    return page[:start] + "\n".join(groups) + page[page.index(CLOSE, end) + len(CLOSE) :]


def group_gallery(app: Any) -> None:
    """Group the page that sphinx-gallery has just written, unless it is still grouped since the last build."""
    index = HERE / "gallery" / "index.rst"
    page = index.read_text(encoding="utf-8")
    if page.count(OPEN) == 1:
        index.write_text(grouped(page), encoding="utf-8")


def skip_fields(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, which the docstring of the class describes, and what scikit-learn adds."""
    if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number"):
        return True
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def link_pages(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn names of pages in docstrings, such as "docs/certificates.md", into links."""
    lines[:] = [re.sub(r"\bdocs/([\w-]+)\.md\b", r":doc:`/\1`", line) for line in lines]


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("builder-inited", group_gallery, priority=900)  # after sphinx-gallery
    app.connect("source-read", rewrite_links)
    app.connect("html-collect-pages", source_pages)
    app.connect("autodoc-process-docstring", link_pages)
    app.connect("autodoc-skip-member", skip_fields)
