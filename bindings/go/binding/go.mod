module github.com/wamuir/graft

go 1.19
