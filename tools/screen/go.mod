module github.com/moonhelm/moonhelm/tools/screen

go 1.26.0
