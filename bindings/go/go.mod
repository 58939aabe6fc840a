module tensorflowext.org/go

go 1.19

require github.com/wamuir/graft v0.7.0
