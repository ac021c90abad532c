module github.com/moonhelm/moonhelm/bench

go 1.26.0
