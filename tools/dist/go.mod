module github.com/moonhelm/moonhelm/tools/dist

go 1.26.0
