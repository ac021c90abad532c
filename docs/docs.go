// SPDX-License-Identifier: Apache-2.0

// Package docs holds the pages of the documentation that the program itself shows.
package docs

import _ "embed"

// TemplateFunctions is the page about the functions of templates, as Markdown.
//
//go:embed template-functions.md
var TemplateFunctions string
