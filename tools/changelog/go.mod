module github.com/moonhelm/moonhelm/tools/changelog

go 1.26.0
