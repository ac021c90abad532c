// SPDX-License-Identifier: Apache-2.0

package readme

import (
	"cmp"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
	files "github.com/moonhelm/moonhelm/engine/engine"
)

// data is the dot of templates. The fields are those of helm-docs.
type data struct {
	Name, Version, AppVersion, ApiVersion, Type string //nolint:staticcheck // helm-docs's name
	Description, Home, Icon, KubeVersion        string
	Deprecated                                  bool
	Keywords, Sources                           []string
	Maintainers                                 []maintainer
	Dependencies                                []dependency
	Annotations                                 map[string]string

	Values   []row
	Sections sections
	Files    files.Files

	BadgeStyle        string
	HelmDocsVersion   string
	SkipVersionFooter bool
}

type maintainer struct{ Name, Email, Url string } //nolint:staticcheck // helm-docs's name

type dependency struct{ Name, Version, Repository, Alias string }

// sections are the values by their "@section".
type sections struct {
	DefaultSection section
	Sections       []section
}

type section struct {
	SectionName  string
	SectionItems []row
}

func newData(in Input, rows []row) *data {
	m := in.Chart.Metadata
	d := &data{
		Name: m.Name, Version: m.Version, AppVersion: m.AppVersion, ApiVersion: m.APIVersion, Type: m.Type,
		Description: m.Description, Home: m.Home, Icon: m.Icon, KubeVersion: m.KubeVersion,
		Deprecated: m.Deprecated, Keywords: m.Keywords, Sources: m.Sources, Annotations: m.Annotations,
		Values: rows, Sections: inSections(rows), Files: files.NewFiles(in.Chart.Raw),
		BadgeStyle: cmp.Or(in.BadgeStyle, "flat-square"), SkipVersionFooter: true,
	}
	for _, p := range m.Maintainers {
		d.Maintainers = append(d.Maintainers, maintainer{p.Name, p.Email, p.URL})
	}
	d.Dependencies = dependencies(m.Dependencies)
	return d
}

// dependencies returns the dependencies sorted by repository and name.
func dependencies(from []*chart.Dependency) []dependency {
	out := []dependency{}
	for _, p := range from {
		out = append(out, dependency{p.Name, p.Version, p.Repository, p.Alias})
	}
	slices.SortStableFunc(out, func(a, b dependency) int {
		return cmp.Or(cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// inSections sorts rows into their sections, which are in the order of their first rows.
func inSections(rows []row) sections {
	s := sections{DefaultSection: section{SectionName: "Other Values", SectionItems: []row{}}}
	for _, r := range rows {
		if r.Section == "" {
			s.DefaultSection.SectionItems = append(s.DefaultSection.SectionItems, r)
			continue
		}
		i := slices.IndexFunc(s.Sections, func(o section) bool { return o.SectionName == r.Section })
		if i < 0 {
			i, s.Sections = len(s.Sections), append(s.Sections, section{SectionName: r.Section})
		}
		s.Sections[i].SectionItems = append(s.Sections[i].SectionItems, r)
	}
	return s
}
