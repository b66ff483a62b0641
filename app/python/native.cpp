// SPDX-License-Identifier: Apache-2.0
// The compiled half of the package `retrograde`; app/python/retrograde is what people call.
#include "app/python/errors.h"
#include "app/python/model.h"
#include "app/python/run.h"
#include "app/python/unlocked.h"
#include "core/engine/results/batch.h"
#include "core/ops/threads.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace retro::python;

namespace
{

void addModel(nb::module_& module)
{
    nb::class_<Model>(module, "Model")
        .def_static("load", &Model::load)
        .def_static("parse", &Model::parse)
        .def_prop_ro("name", &Model::name)
        .def_prop_ro("labels", &Model::labels)
        .def_prop_ro("inputs", &Model::inputs)
        .def_prop_ro("outputs", &Model::outputs)
        .def_prop_ro("operators", &Model::operators)
        .def("named", &Model::named)
        .def("write", &Model::write)
        .def("without", &Model::without)
        .def("picture", &Model::picture)
        .def("explain", &Model::explain, nb::arg("given"), nb::arg("options"), nb::arg("records").none(),
             nb::arg("copies"), nb::arg("told").none())
        .def("run", &Model::run, nb::arg("given"), nb::arg("patterns"), nb::arg("options"), nb::arg("copies"),
             nb::arg("told").none())
        .def("explain_text", &Model::explainText, nb::arg("options"), nb::arg("records").none(),
             nb::arg("told").none());
}

void addRun(nb::module_& module)
{
    nb::class_<Recorded>(module, "Recorded")
        .def_static("open", &Recorded::open)
        .def("contents", &Recorded::contents)
        .def("audit", &Recorded::audit)
        .def("compare", &Recorded::compare)
        .def("compare_file", &Recorded::compareFile)
        .def("history", &Recorded::history)
        .def("visits", &Recorded::visits)
        .def("save", &Recorded::save);
    nb::class_<Run>(module, "Run")
        .def("names", &Run::names)
        .def("input_names", &Run::inputNames)
        .def("output_names", &Run::outputNames)
        .def("relevance", &Run::relevance)
        .def("inputs", &Run::inputs)
        .def("outputs", &Run::outputs)
        .def("parameters", &Run::parameters)
        .def("checkpoints", &Run::checkpoints)
        .def("target", &Run::target)
        .def("composite", &Run::composite)
        .def("warnings", &Run::warnings)
        .def("recorded", &Run::recorded)
        .def("preparation", &Run::preparation)
        .def("words", &Run::words)
        .def("summary", &Run::summary)
        .def("diagnose", &Run::diagnose, nb::arg("against").none(), nb::arg("families"), nb::arg("checks"),
             nb::arg("deep"));
}

} // namespace

NB_MODULE(_native, module)
{
    translateErrors();
    module.attr("version") = RETRO_VERSION;
    module.def("options", &describeOptions);
    module.def("input_endings", &retro::engine::inputEndings);
    module.def("set_threads", &retro::ops::setThreads);
    module.def("threads", &retro::ops::threads);
    module.def("shares_threads", &sharesThreads);
    addModel(module);
    addRun(module);
}
