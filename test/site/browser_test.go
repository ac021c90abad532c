// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// mount is the path of the site on the server: it must work with any.
const mount = "/some/where/"

// The window sizes and colour schemes in which every page is tested.
var looks = []struct {
	width  int64
	scheme string
}{{400, "light"}, {400, "dark"}, {1400, "light"}, {1400, "dark"}}

// A browser is a tab of a headless Chromium that shows a served site.
type browser struct {
	ctx  context.Context
	base string // URL of the site, ending with a slash

	mu       sync.Mutex
	problems []string // errors that the page has reported since the last call of take
}

// browse serves s and opens a tab. A test without a browser is skipped, or fails if
// MOONHELM_REQUIRE_DEPS is set.
func browse(t *testing.T, s *Site) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program(t)), chromedp.NoSandbox)
	server := httptest.NewServer(http.StripPrefix(strings.TrimSuffix(mount, "/"), http.FileServer(http.Dir(s.Dir))))
	t.Cleanup(server.Close)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	b := &browser{ctx: ctx, base: server.URL + mount}
	chromedp.ListenTarget(ctx, b.listen)
	if err := chromedp.Run(ctx, network.Enable(), cdplog.Enable()); err != nil {
		t.Fatalf("starting the browser: %v", err)
	}
	return b
}

func program(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "google-chrome", "chromium-browser"} {
		if file, err := exec.LookPath(name); err == nil {
			return file
		}
	}
	if os.Getenv("MOONHELM_REQUIRE_DEPS") != "" {
		t.Fatal("no Chromium is installed: make site-deps installs it (MOONHELM_REQUIRE_DEPS is set)")
	}
	t.Skip("no Chromium is installed: make site-deps installs it")
	return ""
}

func (b *browser) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.report("exception: %s", e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			for _, arg := range e.Args {
				b.report("console: %s", arg.Value)
			}
		}
	case *cdplog.EventEntryAdded:
		b.report("log: %s %s", e.Entry.Text, e.Entry.URL)
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			b.report("%s: HTTP status %d", e.Response.URL, e.Response.Status)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.base) && !strings.HasPrefix(e.Request.URL, "data:") {
			b.report("%s is asked for: the site must not need another server", e.Request.URL)
		}
	}
}

func (b *browser) report(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// take returns the errors that the page has reported since the last call.
func (b *browser) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	problems := b.problems
	b.problems = nil
	return problems
}

func (b *browser) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// look sets the width of the window and the colour scheme.
func look(width int64, scheme string) chromedp.Action {
	return chromedp.Tasks{
		emulation.SetDeviceMetricsOverride(width, 900, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
		}),
	}
}

// wide returns the elements that are wider than the window.
const wide = `(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width && document.body.scrollWidth <= width) return [];
  const found = ["the page is " + document.documentElement.scrollWidth + " pixels wide"];
  for (const e of document.querySelectorAll("main *")) {
    if (e.getBoundingClientRect().right > width + 1 && !e.parentElement.closest("pre, .table, svg"))
      found.push(e.tagName + ": " + e.textContent.slice(0, 60));
  }
  return found.slice(0, 5);
})()`

// faint returns the texts with a contrast below 4.5, the minimum of the Web Content
// Accessibility Guidelines (1.4.3, AA).
const faint = `(() => {
  const parse = c => (c.match(/[\d.]+/g) || []).map(Number);
  const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = c => {
    const [r, g, b] = c.map(v => linear(v / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const found = new Map();
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest("svg") || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const a = light(parse(getComputedStyle(e).color).slice(0, 3)), b = light(behind(e).slice(0, 3));
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const name = e.tagName + "." + e.className;
    if (contrast < 4.5) found.set(name, contrast.toFixed(1) + " " + name + ": " + e.textContent.slice(0, 40));
  }
  return [...found.values()].slice(0, 5);
})()`

// TestPages opens every page in all window sizes and colour schemes: without errors, with no
// element wider than the window, and with readable colours. It writes screenshots to the
// directory MOONHELM_SCREENSHOTS.
func TestPages(t *testing.T) {
	s := open(t)
	b := browse(t, s)
	pictures := os.Getenv("MOONHELM_SCREENSHOTS")
	for _, name := range s.names() {
		t.Run(name, func(t *testing.T) {
			b.run(t, chromedp.Navigate(b.base+strings.TrimSuffix(name, "index.html")), chromedp.WaitReady("main"))
			for _, l := range looks {
				var over, dim []string
				b.run(t, look(l.width, l.scheme), chromedp.Evaluate(wide, &over), chromedp.Evaluate(faint, &dim))
				if len(over) > 0 {
					t.Errorf("at %d pixels: %s", l.width, strings.Join(over, "\n  "))
				}
				if len(dim) > 0 {
					t.Errorf("%s: contrast below 4.5: %s", l.scheme, strings.Join(dim, "\n  "))
				}
				if pictures != "" {
					picture(t, b, filepath.Join(pictures, strings.ReplaceAll(strings.TrimSuffix(name, ".html"), "/", "-")+
						fmt.Sprintf("-%d-%s.png", l.width, l.scheme)))
				}
			}
			for _, problem := range b.take() {
				t.Error(problem)
			}
		})
	}
}

func picture(t *testing.T, b *browser, name string) {
	t.Helper()
	var png []byte
	b.run(t, chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(name, png, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSearch types into the search field.
func TestSearch(t *testing.T) {
	s := open(t)
	b := browse(t, s)
	for _, c := range []struct{ words, want string }{
		{"three-way merge", "three-way merge"},
		{"values.schema", "values.schema"},
		{"sandbox", "sandbox"},
	} {
		t.Run(c.words, func(t *testing.T) {
			var first, href, address string
			b.run(t, look(1400, "light"), chromedp.Navigate(b.base+"charts/"), chromedp.WaitReady("main"),
				press("/"), chromedp.SendKeys("#search", c.words),
				poll(`document.querySelector("#results [aria-selected=true] mark")`),
				chromedp.Evaluate(`document.querySelector("#results li").textContent`, &first),
				chromedp.Evaluate(`document.querySelector("#results a").href`, &href))
			if !strings.Contains(strings.ToLower(first), c.want) {
				t.Errorf("the first result of %q is %q, want one with %q", c.words, first, c.want)
			}
			b.run(t, chromedp.SendKeys("#search", kb.Enter), arrive(href, &address))
			if address != href {
				t.Errorf("the Return key leads to %s, want %s", address, href)
			}
			for _, problem := range b.take() {
				t.Error(problem)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		var text string
		b.run(t, chromedp.Navigate(b.base), chromedp.SendKeys("#search", "xyzzyxyzzy"),
			poll(`document.querySelector("#results .none")`),
			chromedp.Evaluate(`document.querySelector("#results").textContent`, &text))
		if want := "Nothing found."; text != want {
			t.Errorf("results = %q, want %q", text, want)
		}
	})
}

// press presses a key with an event that the page may cancel.
func press(key string) chromedp.Action {
	return chromedp.Tasks{
		input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithText(key),
		input.DispatchKeyEvent(input.KeyUp).WithKey(key),
	}
}

// arrive waits up to ten seconds until the address of the tab is want, and stores it.
func arrive(want string, address *string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var err error
		for range 100 { // between two pages the tab returns an error
			if err = chromedp.Location(address).Do(ctx); err == nil && *address == want {
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return err
	})
}

// poll waits until the JavaScript expression condition is true.
func poll(condition string) chromedp.Action {
	return chromedp.Poll("Boolean("+condition+")", nil, chromedp.WithPollingInterval(50*time.Millisecond))
}

// TestMenu opens the list of pages in a narrow window.
func TestMenu(t *testing.T) {
	s := open(t)
	b := browse(t, s)
	var address string
	b.run(t, look(400, "light"), chromedp.Navigate(b.base+"scripts/"), chromedp.WaitNotVisible(".pages .list"),
		chromedp.Click("[for=menu]"), chromedp.WaitVisible(".pages .list a"),
		chromedp.Click(`.pages .list a[href$="charts/"]`), arrive(b.base+"charts/", &address))
	if want := b.base + "charts/"; address != want {
		t.Errorf("the menu leads to %s, want %s", address, want)
	}
}
