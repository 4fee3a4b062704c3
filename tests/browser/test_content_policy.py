"""The Content-Security-Policy in a browser: injected code does not run.

A violation is an error in the console, so every test with a visitor shows that the page has none.
"""

REPORT = """window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push([event.violatedDirective, event.blockedURI, event.sample].join(" ")));"""
INJECTED = """(markup) => {
  window.violations.length = 0;
  const box = document.body.appendChild(document.createElement("div"));
  box.innerHTML = markup;
  for (const old of box.querySelectorAll("script")) {
    const script = document.createElement("script");
    script.textContent = old.textContent;
    old.replaceWith(script);
  }
}"""
CASES = {
    "<img src=data:, onerror='window.hacked = 1'>": "script-src-attr inline",
    "<script>window.hacked = 1</script>": "script-src-elem inline",
    "<img src=https://evil.example/a.png>": "img-src https://evil.example/a.png",
    "<iframe src=https://evil.example/></iframe>": "frame-src https://evil.example",
}


def test_injected_markup_cannot_run_code_or_load_remote_files(windows, url):
    with windows.visitor(url) as visitor:
        markup_cannot_run_code_or_load_remote_files(visitor.page, url)


def markup_cannot_run_code_or_load_remote_files(page, url):
    said = []
    page.on("console", lambda message: message.type == "error" and said.append(message.text))
    page.add_init_script(REPORT)
    page.goto(url)
    page.wait_for_selector(".sv-verdict:not(:empty)", state="attached")
    assert page.evaluate("window.violations") == [], "the page itself violates its policy"
    for count, (markup, directive) in enumerate(CASES.items(), 1):
        page.evaluate(INJECTED, markup)
        page.wait_for_function("window.violations.length > 0")
        assert page.evaluate("window.violations[0]").startswith(directive), markup
        assert not page.evaluate("window.hacked"), markup
        assert len([each for each in said if "Content Security Policy" in each]) >= count, markup
