//! `foretell report` as users meet it, and the page as a browser does.
//!
//! Chromium is spoken to through its pipe: JSON messages that end with a zero byte, no port, no further crate.

use crate::support::Folder;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

#[test]
fn a_report_is_replaced_and_nothing_else_is() {
    let folder = Folder::new();
    let next = folder.ok(&["search", "--budget", "60", "--name", "../s"]);
    assert!(next.contains("foretell report ../s"), "{next}");
    let written: Value = serde_json::from_str(&folder.ok(&["report", "../s", "--json"])).unwrap();
    assert_eq!(written["report"], "s.html");
    let page = folder.read("s.html");
    assert_eq!(written["bytes"], page.len());
    assert!(page.contains(written["hash"].as_str().unwrap()));
    folder.ok(&["report", "../s", "-o", "s.html", "--svg", "charts"]);
    assert_eq!(folder.read("s.html"), page);
    for chart in ["front", "history", "agreement", "network"] {
        assert!(folder.read(&format!("charts/{chart}.svg")).starts_with("<svg xmlns"));
    }
    std::fs::write(folder.0.join("notes.html"), "mine").unwrap();
    folder.fails(&["report", "../s", "-o", "notes.html"], 2, "--force");
    assert_eq!(folder.read("notes.html"), "mine");
    folder.ok(&["report", "../s", "-o", "notes.html", "--force"]);
    assert_eq!(folder.read("notes.html"), page);
    folder.fails(&["report", "../s", "-o", "no/such/folder.html"], 1, "cannot write no/such/folder.html");
    folder.fails(&["report", "s"], 2, "unknown study 's'");
    let leftovers = std::fs::read_dir(&folder.0).unwrap();
    assert!(leftovers.flatten().all(|entry| !entry.file_name().to_string_lossy().ends_with(".part")));
}

/// The table of FlexiBERT networks ships with the library.
#[test]
fn a_report_says_what_the_score_is_worth() {
    let folder = Folder::new();
    folder.ok(&["search", "--space", "flexibert", "--budget", "20", "--name", "s"]);
    folder.ok(&["report", "s"]);
    assert!(folder.read("s.html").contains("of equal size as training did on flexibert-pentateuch"));
}

/// The browser, if this machine has one; on machines that test for others it must.
fn chromium() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let named =
        |folder: PathBuf| ["chromium", "chromium-browser", "google-chrome"].map(|name| folder.join(name));
    let found = std::env::split_paths(&folders).flat_map(named).find(|path| path.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "the browser test needs chromium: apt-get install chromium"
        );
        eprintln!("SKIPPED: the browser test needs chromium: apt-get install chromium");
    }
    found
}

struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    calls: u64,
    events: Vec<Value>,
}

impl Browser {
    fn start(chromium: &Path, profile: &Path) -> Self {
        // The pipe is expected at 3 and 4; a browser that hangs is ended.
        let script = "exec timeout 100 \"$0\" \"$@\" 3<&0 4>&1 >/dev/null 2>&1";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(chromium).args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--remote-debugging-pipe",
        ]);
        command.arg(format!("--user-data-dir={}", profile.display()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser = Browser { child, to, from, session: String::new(), calls: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session =
            browser.call("Target.attachToTarget", attach)["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Network", "Runtime", "Log", "Page"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser is gone");
        serde_json::from_slice(&bytes).unwrap()
    }

    #[track_caller]
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut message = json!({"id": self.calls, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let message = self.message();
            if message["id"] == self.calls {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn open(&mut self, file: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        while self.events.iter().all(|event| event["method"] != "Page.loadEventFired") {
            let event = self.message();
            self.events.push(event);
        }
    }

    #[track_caller]
    fn eval(&mut self, expression: &str) -> Value {
        let said = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true}),
        );
        assert!(said.get("exceptionDetails").is_none(), "{expression}: {said}");
        said["result"]["value"].clone()
    }

    fn screen(&mut self, width: u32, height: u32, mobile: bool, scheme: &str) {
        let scale = if mobile { 2 } else { 1 };
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let feature = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", feature);
    }

    fn press(&mut self, key: &str, code: u32) {
        let key = json!({"type": "rawKeyDown", "key": key, "code": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", key);
    }

    fn shoot(&mut self, name: &str) {
        let shot =
            self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true, "format": "png"}));
        self.keep(name, &base64(shot["data"].as_str().unwrap()));
    }

    fn keep(&self, name: &str, bytes: &[u8]) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../report");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for digit in text.chars().filter_map(|c| DIGITS.find(c)) {
        (bits, count) = (bits << 6 | digit as u32, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

#[test]
fn a_browser_shows_it_on_a_laptop_and_a_phone_by_day_and_night() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new();
    let name = "<i>bold</i> & \"quoted\"";
    folder.ok(&["search", "--budget", "400", "--name", name]);
    folder.ok(&["report", name, "-o", "one.html", "--svg", "charts"]);
    folder.ok(&[
        "search",
        "--objective",
        "proxy",
        "--objective",
        "flops",
        "--budget",
        "300",
        "--name",
        "two",
    ]);
    folder.ok(&["report", "two", "-o", "two.html"]);
    folder.ok(&["search", "--space", "flexibert", "--budget", "200", "--name", "three"]);
    folder.ok(&["report", "three", "-o", "three.html"]);
    let mut browser = Browser::start(&chromium, &folder.0.join("profile"));
    for page in ["one", "two", "three"] {
        let file = folder.0.join(format!("{page}.html"));
        let mut grounds = HashSet::new();
        for (screen, width, height, mobile) in
            [("laptop", 1280, 800, false), ("phone", 390, 844, true), ("narrow", 360, 640, true)]
        {
            for scheme in ["light", "dark"] {
                browser.screen(width, height, mobile, scheme);
                browser.open(&file);
                quiet(&browser.events, &file);
                fits(&mut browser, page, width);
                grounds.insert(browser.eval("getComputedStyle(document.body).backgroundColor").to_string());
                if screen != "narrow" {
                    browser.shoot(&format!("{page}-{screen}-{scheme}.png"));
                }
            }
        }
        assert_eq!(grounds.len(), 2, "light and dark differ");
        let pages = printed_pages(&mut browser, page);
        assert!((2..=4).contains(&pages), "{page} is printed on {pages} pages");
        browser.screen(1280, 800, false, "light");
        browser.open(&file);
        pointing_says_the_architecture(&mut browser, page);
        sorting_sorts(&mut browser);
        quiet(&browser.events, &file);
    }
    browser.open(&folder.0.join("one.html"));
    assert_eq!(browser.eval("document.querySelector('h1').textContent"), name);
    for chart in ["front", "history", "agreement", "network"] {
        let file = folder.0.join(format!("charts/{chart}.svg"));
        browser.open(&file);
        assert_eq!(browser.eval("document.documentElement.nodeName"), "svg");
        assert_eq!(browser.eval("document.querySelectorAll('parsererror').length"), 0, "{chart}");
        assert!(browser.eval("document.querySelectorAll('.p title').length").as_u64().unwrap() > 2);
        quiet(&browser.events, &file);
    }
}

/// Nothing is wider than the screen but what scrolls in its own box, and no two labels of a chart overlap.
#[track_caller]
fn fits(browser: &mut Browser, page: &str, width: u32) {
    let wide = "(() => { const right = document.documentElement.clientWidth; \
                if (document.documentElement.scrollWidth > right) return 'the page'; \
                const out = [...document.querySelectorAll('main *')].find(element => !element.closest('.wide table') && \
                element.getBoundingClientRect().right > right + .5); return out ? out.outerHTML.slice(0, 200) : ''; })()";
    assert_eq!(browser.eval(wide), "", "{page} is wider than {width} px");
    let overlapping = "(() => { const found = []; for (const chart of document.querySelectorAll('.chart')) { \
         const texts = [...chart.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]); \
         texts.forEach(([a, one], i) => texts.slice(i + 1).forEach(([b, two]) => { \
         const across = Math.min(one.right, two.right) - Math.max(one.left, two.left); \
         const down = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top); \
         if (across > 0 && down > 1) found.push(`${a} and ${b}`); })); } return found.join('; '); })()";
    assert_eq!(browser.eval(overlapping), "", "labels of {page} overlap at {width} px");
}

/// How many pages the open page takes on paper; the document is kept for people to look at.
fn printed_pages(browser: &mut Browser, page: &str) -> usize {
    let printed = browser.call("Page.printToPDF", json!({"preferCSSPageSize": true}));
    let bytes = base64(printed["data"].as_str().unwrap());
    browser.keep(&format!("{page}.pdf"), &bytes);
    let text = String::from_utf8_lossy(&bytes);
    text.matches("/Type /Page").count() - text.matches("/Type /Pages").count()
}

/// No complaint, and no request but for the page itself.
#[track_caller]
fn quiet(events: &[Value], file: &Path) {
    let own = format!("file://{}", file.display());
    for event in events {
        let method = event["method"].as_str().unwrap_or_default();
        assert!(
            !["Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"].contains(&method),
            "{event}"
        );
        if method == "Network.requestWillBeSent" {
            let url = event["params"]["request"]["url"].as_str().unwrap();
            assert!(url == own || url.starts_with("data:"), "{url} was fetched");
        }
    }
}

/// By mouse and by key, and it is gone when the mouse leaves.
fn pointing_says_the_architecture(browser: &mut Browser, page: &str) {
    assert_eq!(browser.eval("document.getElementById('tip').hidden"), true);
    // What scrolling hides is hidden a frame later.
    let place = browser.eval(
        "(async () => { const mark = document.querySelector('.chart circle.on'); mark.scrollIntoView({block: 'center'}); \
         for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame); \
         const box = mark.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()",
    );
    let mut move_to = |x: &Value, y: &Value| {
        browser.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}));
        let tip = "(() => { const tip = document.getElementById('tip'), box = tip.getBoundingClientRect(); \
                   return tip.hidden ? '' : box.left >= 0 && box.right <= innerWidth ? tip.textContent : 'off screen'; })()";
        browser.eval(tip).as_str().unwrap().to_owned()
    };
    let gene = if page == "three" { "operation_type " } else { "num_heads " };
    let said = move_to(&place[0], &place[1]);
    for part in ["trial ", "nsc ", " parameters", gene] {
        assert!(said.contains(part), "{part:?} is not in {said:?}");
    }
    assert_eq!(move_to(&json!(2), &json!(2)), "");
    browser.eval("document.querySelector('.chart circle.on').closest('.chart').focus()");
    browser.press("ArrowRight", 39);
    let first = browser.eval("document.getElementById('tip').textContent");
    browser.press("ArrowRight", 39);
    let second = browser.eval("document.getElementById('tip').textContent");
    assert!(first != second && second.as_str().unwrap().contains(gene), "{first} {second}");
    browser.press("Escape", 27);
    assert_eq!(browser.eval("document.getElementById('tip').hidden"), true);
}

/// Ascending at the first click on a column's name, descending at the second.
fn sorting_sorts(browser: &mut Browser) {
    let mut column = |click: bool| -> Vec<f64> {
        let script = format!(
            "(() => {{ const names = [...document.querySelectorAll('th button')]; \
             const button = names.find(name => name.textContent === 'parameters'); if ({click}) button.click(); \
             return [...button.closest('table').tBodies[0].rows].map(row => \
             +row.cells[button.parentElement.cellIndex].textContent.replaceAll(',', '')); }})()"
        );
        let numbers = browser.eval(&script);
        numbers.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let before = column(false);
    let mut sorted = before.clone();
    sorted.sort_by(f64::total_cmp);
    assert_ne!(before, sorted, "there is nothing to sort");
    assert_eq!(column(true), sorted);
    sorted.reverse();
    assert_eq!(column(true), sorted);
    assert_eq!(browser.eval("document.querySelectorAll('th[aria-sort=descending]').length"), 1);
}
