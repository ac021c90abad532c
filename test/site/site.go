// SPDX-License-Identifier: Apache-2.0

// Package site reads the site that make docs has built: its pages, their links and anchors.
package site

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/net/html"
)

// A Site is a built site by the paths of its pages.
type Site struct {
	Dir   string           // document root
	Pages map[string]*Page // by path, such as "scripts/index.html"
}

// A Page has the anchors and links of a page.
type Page struct {
	Title string
	IDs   map[string]int // number of elements by id
	Links []string       // href and src attributes, as written
}

// Read reads all HTML files below dir.
func Read(dir string) (*Site, error) {
	s := &Site{Dir: dir, Pages: map[string]*Page{}}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".html" {
			return err
		}
		page, err := readPage(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		s.Pages[filepath.ToSlash(rel)] = page
		return err
	})
	return s, err
}

func readPage(name string) (*Page, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	root, err := html.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", name, err)
	}
	p := &Page{IDs: map[string]int{}}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "title" && n.FirstChild != nil && p.Title == "" {
			p.Title = n.FirstChild.Data
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				p.IDs[a.Val]++
			case "href", "src":
				p.Links = append(p.Links, a.Val)
			}
		}
	}
	return p, nil
}

// Check returns an error if link, as written in the page from, is broken. Links to the
// project's repository are looked up in the working tree root; other sites are not checked.
func (s *Site) Check(from, link, repository, root string) error {
	u, err := url.Parse(link)
	if err != nil {
		return err
	}
	if u.IsAbs() {
		file, ok := strings.CutPrefix(link, repository+"/")
		if !ok {
			return nil
		}
		_, file, _ = strings.Cut(file, "/main/")
		file, _, _ = strings.Cut(file, "#")
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(file)))
		return err
	}
	target := from
	if u.Path != "" {
		if strings.HasPrefix(u.Path, "/") {
			return fmt.Errorf("%s is not relative: the site would not work in a directory of a server", link)
		}
		target = path.Join(path.Dir(from), u.Path)
		if strings.HasSuffix(u.Path, "/") || path.Ext(target) == "" {
			target = path.Join(target, "index.html")
		}
	}
	if _, err := os.Stat(filepath.Join(s.Dir, filepath.FromSlash(target))); err != nil {
		return err
	}
	page := s.Pages[target]
	if u.Fragment == "" || page == nil {
		return nil
	}
	if page.IDs[u.Fragment] == 0 {
		return fmt.Errorf("%s has no anchor %q", target, u.Fragment)
	}
	return nil
}
