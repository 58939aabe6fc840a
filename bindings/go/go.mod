module tensorflow-ext.test/go

go 1.19

require github.com/wamuir/graft v0.7.0
