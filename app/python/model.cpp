// SPDX-License-Identifier: Apache-2.0
#include "app/python/model.h"

#include "app/python/errors.h"
#include "app/python/unlocked.h"
#include "core/base/editdistance.h"
#include "core/base/inputfiles.h"
#include "core/base/jsonout.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/explain/valuepatterns.h"
#include "core/engine/input/fittedinput.h"
#include "core/engine/language/filledinputs.h"
#include "core/engine/language/languagepage.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/lut/lutpath.h"
#include "core/engine/plan/planning.h"
#include "core/engine/question/combinations.h"
#include "core/engine/question/fields.h"
#include "core/engine/question/resolve.h"
#include "core/formats/modelfile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <iterator>
#include <set>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>

namespace retro::python
{

namespace nb = nanobind;
using engine::Question;
using engine::QuestionField;

namespace
{

/// What goes between a pass and Python while the lock of the interpreter is let go: progress to a function, Ctrl+C and
/// what that function raises back. Looks at most every 40 ms, between operators: one long operator delays both.
class Listener
{
public:
    /// `told`: f(stage, done, total), or None.
    explicit Listener(nanobind::object told) : m_told(std::move(told)) {}

    [[nodiscard]] std::stop_token token() const { return m_stop.get_token(); }
    /// To be called without the lock, on the thread that explains.
    [[nodiscard]] engine::StageProgress progress()
    {
        return
            [this](const std::string& stage, std::size_t done, std::size_t total) { onProgress(stage, done, total); };
    }
    /// With the lock, when the pass has ended: throws what stopped it.
    void finish() const
    {
        if (m_raised) {
            std::rethrow_exception(m_raised);
        }
    }

private:
    using Clock = std::chrono::steady_clock;

    void onProgress(const std::string& stage, std::size_t done, std::size_t total)
    {
        constexpr std::chrono::milliseconds kPause{40};
        const Clock::time_point now = Clock::now();
        const bool isNew = !m_told.is_none() && stage != m_stage;
        if (m_raised || (!isNew && now - m_last < kPause)) {
            return;
        }
        m_last = now;
        m_stage = stage;
        const nanobind::gil_scoped_acquire lock;
        try {
            if (PyErr_CheckSignals() != 0) {
                throw nanobind::python_error();
            }
            if (!m_told.is_none()) {
                m_told(stage, done, total);
            }
        } catch (...) {
            m_raised = std::current_exception();
            m_stop.request_stop();
        }
    }

    nanobind::object m_told;
    std::stop_source m_stop;
    std::exception_ptr m_raised;
    std::string m_stage;
    Clock::time_point m_last = Clock::now();
};

/// What `explain` of the command line writes into files, or is given by other arguments here.
constexpr std::array<std::string_view, 9> kOfFiles{"input",   "run",          "image", "bits",     "colormap",
                                                   "overlay", "check-oracle", "open",  "plan-rows"};

/// What explain_text takes beside the options of explain.
constexpr std::array<std::string_view, 12> kOfTexts{"text",      "tokenizer", "ids",           "position",
                                                    "positions", "contrast",  "target-tokens", "generate",
                                                    "continue",  "layers",    "html",          "attention"};

bool isOfTexts(std::string_view name) { return std::ranges::find(kOfTexts, name) != kOfTexts.end(); }

/// Options that say how a model is read.
bool isOfModel(const QuestionField& field) { return (field.verbs & engine::kInfo) != 0 || field.name == "lut-path"; }

bool isOption(const QuestionField& field)
{
    const bool isAsked = (field.verbs & engine::kExplain) != 0 || field.name == "precision";
    return isAsked && std::ranges::find(kOfFiles, field.name) == kOfFiles.end() && !isOfTexts(field.name);
}

bool isSwitch(const QuestionField& field) { return std::holds_alternative<bool Question::*>(field.member); }

std::string python(std::string_view name)
{
    std::string text(name);
    std::ranges::replace(text, '-', '_');
    return text;
}

const QuestionField& fieldOf(const std::string& name, bool ofModel)
{
    std::vector<std::string> known;
    for (const QuestionField& field : engine::questionFields()) {
        if (!isOption(field) || isOfModel(field) != ofModel) {
            continue;
        }
        if (field.name == name) {
            return field;
        }
        known.push_back(python(field.name));
    }
    throw Refused(base::usageError(fmt::format("there is no such option here; known are {}{}", fmt::join(known, ", "),
                                               base::guessText(python(name), known)),
                                   python(name)));
}

/// What comes of True is the only text that a switch has.
base::Result<void> checkSwitch(const std::string& text)
{
    return text == "on" ? base::Result<void>()
                        : base::usageError(fmt::format("this is True or False, not \"{}\"", text));
}

/// An option that stands once is given once. Errors: Usage.
void expectOne(const QuestionField& field, const std::vector<std::string>& texts)
{
    if (texts.size() > 1 && !std::holds_alternative<std::vector<std::string> Question::*>(field.member)) {
        throw Refused(base::usageError(fmt::format("one value is wanted, not {}", texts.size()), python(field.name)));
    }
}

/// Errors: Usage (what the field does not take).
void takeOption(const QuestionField& field, const std::vector<std::string>& texts, Question& question)
{
    expectOne(field, texts);
    for (const std::string& text : texts) {
        if (const auto good = isSwitch(field) ? checkSwitch(text) : engine::checkText(field, text); !good) {
            throw Refused(base::within(good.error(), python(field.name)));
        }
    }
    engine::setTexts(field, texts, question);
}

Question questionOf(const Options& options, bool ofModel)
{
    Question question;
    for (const auto& [name, texts] : options) {
        takeOption(fieldOf(name, ofModel), texts, question);
    }
    return question;
}

engine::LoadedModelPointer onLutPath(const engine::LoadedModelPointer& loaded, const Question& question)
{
    if (question.lutPath.empty()) {
        return loaded;
    }
    const bool isFused = question.lutPath == "fused";
    return valueOf(engine::withLutPath(loaded, isFused ? lut::Path::Fused : lut::Path::Documented));
}

/// Whether a question can be recorded, by the table of what excludes what.
bool canBeRecorded(Question question)
{
    question.run = "run";
    return engine::checkTogether(engine::asksOf(question)).ok();
}

/// Every input has data. Errors: Usage (those that have none).
void expectAll(const std::vector<tensor::Tensor>& inputs, const engine::LoadedModel& model)
{
    std::vector<std::string> names;
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        names.push_back(model.graph()->value(model.graph()->inputs()[i]).name);
        if (!inputs[i].isValid()) {
            missing.push_back(names.back());
        }
    }
    if (!missing.empty()) {
        throw Refused(base::usageError(
            fmt::format("the model also wants {}; its inputs are {}", fmt::join(missing, ", "), fmt::join(names, ", ")),
            model.name));
    }
}

/// The files among what is given, as --input names them.
std::vector<std::string> filesAmong(const nb::list& given, const engine::LoadedModel& model)
{
    std::vector<std::string> files;
    for (std::size_t i = 0; i < model.graph()->inputs().size(); ++i) {
        const nb::handle one = given[i];
        if (nb::isinstance<nb::str>(one)) {
            files.push_back(fmt::format("{}={}", model.graph()->value(model.graph()->inputs()[i]).name,
                                        nb::cast<std::string>(one)));
        }
    }
    return files;
}

} // namespace

std::shared_ptr<Model> Model::load(const std::string& path, const Options& options)
{
    const nb::gil_scoped_release unlocked;
    const Question question = questionOf(options, true);
    const auto read = [&] { return engine::loadModel(path, question); };
    return std::make_shared<Model>(valueOf(base::caught(read)));
}

std::shared_ptr<Model> Model::parse(const nb::bytes& data, const std::string& name, const std::string& card,
                                    const Options& options)
{
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(data.data()), data.size());
    const nb::gil_scoped_release unlocked;
    const Question question = questionOf(options, true);
    const engine::LoadOptions how = valueOf(engine::loadOptions(question));
    const auto read = [&]() -> base::Result<engine::LoadedModelPointer> {
        RETRO_TRY(const engine::LoadedModelPointer loaded, engine::parseModel(bytes, name, card, how.rewrites));
        return how.shapes.empty() ? loaded : engine::withInputShapes(loaded, how.shapes);
    };
    return std::make_shared<Model>(onLutPath(valueOf(base::caught(read)), question));
}

std::vector<std::string> Model::labels() const
{
    return m_loaded->card ? m_loaded->card->labels : std::vector<std::string>();
}

nb::list Model::inputs() const
{
    nb::list found;
    for (const base::ValueId id : m_loaded->graph()->inputs()) {
        const graph::Value& value = m_loaded->graph()->value(id);
        nb::list shape;
        for (const graph::Dimension& one : value.shape.value_or(std::vector<graph::Dimension>())) {
            if (one.extent) {
                shape.append(*one.extent);
            } else if (!one.symbol.empty()) {
                shape.append(one.symbol);
            } else {
                shape.append(nb::none());
            }
        }
        const nb::object extents = value.shape ? nb::object(nb::tuple(shape)) : nb::object(nb::none());
        found.append(nb::make_tuple(value.name, extents, std::string(tensor::nameOf(value.dtype))));
    }
    return found;
}

std::vector<std::string> Model::outputs() const
{
    std::vector<std::string> found;
    for (const base::ValueId id : m_loaded->graph()->outputs()) {
        found.push_back(m_loaded->graph()->value(id).name);
    }
    return found;
}

std::vector<std::string> Model::operators() const
{
    std::set<std::string> found;
    for (const graph::Node& node : m_loaded->read->nodes()) {
        found.insert(node.op);
    }
    return {found.begin(), found.end()};
}

std::vector<std::string> Model::named(const std::string& pattern) const
{
    std::vector<std::string> found;
    for (const base::ValueId id : valueOf(engine::valuesMatching(*m_loaded->graph(), std::array{pattern}))) {
        found.push_back(m_loaded->graph()->value(id).name);
    }
    return found;
}

void Model::write(const std::string& path) const
{
    const nb::gil_scoped_release unlocked;
    valueOf(base::caught([&] { return formats::writeModelFile(path, *m_loaded->read); }));
}

std::shared_ptr<Model> Model::without(const std::vector<std::string>& rewrites) const
{
    const nb::gil_scoped_release unlocked;
    rewrite::RewriteOptions options = m_loaded->rewritten.options;
    valueOf(rewrite::switchOff(options, rewrites));
    return std::make_shared<Model>(valueOf(base::caught([&] { return engine::withRewrites(m_loaded, options); })));
}

nb::object Model::picture(const AnyArray& pixels) const
{
    const tensor::Tensor data = tensorOf(pixels, true);
    const bool isPicture = data.dtype() == tensor::DType::UInt8 && data.rank() == 3 && data.shape()[2] == 3;
    if (!isPicture || data.size() == 0) {
        throw Refused(base::inputError("pixels are an array of uint8 of the shape height × width × 3",
                                       tensor::toText(data.shape())));
    }
    engine::PixelArray picture{static_cast<int>(data.shape()[1]), static_cast<int>(data.shape()[0]), {}};
    picture.rgb.assign(data.data<std::uint8_t>(), data.data<std::uint8_t>() + data.size());
    const graph::Graph& graph = *m_loaded->graph();
    base::Error refused = base::inputError("the model has no inputs");
    for (const base::ValueId id : graph.inputs()) {
        const engine::PictureOptions options = valueOf(engine::pictureOptions(engine::Question(), *m_loaded));
        if (const auto made = engine::pictureToInput(picture, graph.value(id), options)) {
            return arrayOf(*made);
        } else {
            refused = made.error();
        }
    }
    throw Refused(std::move(refused));
}

std::vector<tensor::Tensor> Model::inputsOf(const nb::list& given, bool copies, const Question& question,
                                            const engine::LoadedModel& model) const
{
    const graph::Graph& graph = *model.graph();
    const formats::ModelCard* const card = model.card ? &*model.card : nullptr;
    const engine::PictureOptions options = valueOf(engine::pictureOptions(question, model));
    std::vector<tensor::Tensor> inputs;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const graph::Value& input = graph.value(graph.inputs()[i]);
        const nb::handle one = given[i];
        if (one.is_none()) {
            inputs.emplace_back();
            continue;
        }
        if (nb::isinstance<nb::str>(one)) {
            inputs.push_back(
                valueOf(engine::readInput(nb::cast<std::string>(one), graph, graph.inputs()[i], options, card)));
            continue;
        }
        AnyArray array;
        if (!nb::try_cast(one, array)) {
            throw Refused(base::usageError("give an array (numpy, or DLPack in the memory of the machine), or the name "
                                           "of a file",
                                           "input '" + input.name + "'"));
        }
        const tensor::Tensor data = tensorOf(array, copies);
        inputs.push_back(valueOf(engine::fittedInput(data, input)));
    }
    (void)valueOf(engine::fillLanguageInputs(model, inputs));
    expectAll(inputs, model);
    return inputs;
}

engine::LoadedModelPointer Model::runnable(const Question& question)
{
    engine::LoadedModelPointer model =
        engine::asksFor(question, "planned") ? valueOf(engine::asPlanned(m_loaded)) : m_loaded;
    if (!m_explainer || m_explainer->model() != model) {
        m_explainer.emplace(model);
    }
    return model;
}

std::shared_ptr<Run> Model::explain(const nb::list& given, const Options& options, std::optional<bool> records,
                                    bool copies, const nb::object& told)
{
    Question question = questionOf(options, false);
    if (engine::asksFor(question, "oracle-by-plan")) {
        throw Refused(base::usageError("the oracle by a plan runs on the command line alone: retrograde-cli explain"));
    }
    if (records.value_or(canBeRecorded(question))) {
        question.run = "run";
    }
    const base::ReadingScope read("an input");
    std::vector<tensor::Tensor> inputs = inputsOf(given, copies, question, *m_loaded);
    question.inputs = filesAmong(given, *m_loaded);
    Listener listener(told);
    std::shared_ptr<Run> run;
    std::optional<base::Error> refused;
    {
        const Unlocked unlocked;
        const std::scoped_lock one(m_one);
        const engine::LoadedModelPointer model = runnable(question);
        engine::ExplainRequest request = valueOf(engine::resolve(question, *model));
        request.inputs = std::move(inputs);
        const auto pass = [&] { return m_explainer->explain(request, listener.token(), listener.progress()); };
        if (base::Result<engine::ExplainResult> made = base::caught(pass); made) {
            run = std::make_shared<Run>(model, std::move(request), std::move(made).value());
        } else {
            refused = made.error();
        }
    }
    listener.finish();
    if (refused) {
        throw Refused(*refused);
    }
    run->hold(read.files());
    return run;
}

nb::dict Model::run(const nb::list& given, const std::vector<std::string>& patterns, const Options& options,
                    bool copies, const nb::object& told)
{
    const Question question = questionOf(options, false);
    const std::vector<tensor::Tensor> inputs = inputsOf(given, copies, question, *m_loaded);
    std::vector<std::pair<std::string, tensor::Tensor>> found;
    std::vector<std::string> names;
    engine::HiddenValues hidden{patterns, {}, {}};
    hidden.begin = [&names](const graph::Graph& graph, std::span<const base::ValueId>, std::uint64_t) {
        std::ranges::transform(graph.values(), std::back_inserter(names), &graph::Value::name);
        return base::Result<void>();
    };
    hidden.take = [&](base::ValueId value, const tensor::Tensor& tensor) {
        found.emplace_back(names[value.index()], tensor);
        return base::Result<void>();
    };
    Listener listener(told);
    const auto pass = [&]() -> base::Result<engine::ForwardOutputs> {
        engine::LoadedModelPointer model = m_loaded;
        if (!patterns.empty()) {
            RETRO_TRY(model, engine::asInFile(m_loaded, listener.token()));
        }
        return engine::runForward(*model, inputs, engine::precisionOf(question, *model), listener.token(),
                                  listener.progress(), hidden);
    };
    base::Result<engine::ForwardOutputs> made = [&] {
        const Unlocked unlocked;
        const std::scoped_lock one(m_one);
        return base::caught(pass);
    }();
    listener.finish();
    const engine::ForwardOutputs result = valueOf(std::move(made));
    if (!result.leftOut.empty()) {
        throw Refused(base::inputError(result.leftOut.front()));
    }
    nb::dict all;
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
        all[result.names[i].c_str()] = arrayOf(result.outputs[i]);
    }
    for (const auto& [name, tensor] : found) {
        all[name.c_str()] = arrayOf(tensor);
    }
    return all;
}

nb::tuple Model::explainText(const Options& options, std::optional<bool> records, const nb::object& told)
{
    Options plain = options;
    std::erase_if(plain, [](const auto& option) { return isOfTexts(option.first); });
    Question question = questionOf(plain, false);
    for (const auto& [name, texts] : options) {
        if (isOfTexts(name)) {
            takeOption(engine::questionField(name, engine::kExplain), texts, question);
        }
    }
    const bool goesOn = !question.generate.empty() || !question.continuation.empty();
    if (records.value_or(!goesOn && canBeRecorded(question))) {
        question.run = "run";
    }
    Listener listener(told);
    std::shared_ptr<Run> run;
    engine::LanguageReport report;
    std::optional<base::Error> refused;
    {
        const Unlocked unlocked;
        const std::scoped_lock one(m_one);
        const engine::LoadedModelPointer model = runnable(question);
        const auto pass = [&]() -> base::Result<void> {
            RETRO_TRY(const auto asked, engine::languageQuestion(*model, question));
            if (!asked) {
                return base::usageError("a text is wanted: text=, or ids=");
            }
            RETRO_TRY(engine::ExplainRequest request,
                      engine::resolve(engine::withoutLanguage(question, *asked), *model));
            RETRO_CHECK(engine::takeLanguage(*asked, request));
            // Another word of the same text may be asked for next.
            request.keepsPass = request.inputsOnly || asked->positions.size() > 1;
            RETRO_TRY(engine::ExplainResult made, m_explainer->explain(request, listener.token(), listener.progress()));
            const engine::LayerWish wish = engine::LayerWish::of(*asked, question);
            RETRO_TRY(report, engine::reportOf(*asked, *model, question, made));
            RETRO_CHECK(engine::addAttention(*asked, question, request, made, wish, report, listener.token()));
            RETRO_CHECK(engine::addPositions(*asked, *m_explainer, question, request, report, listener.token(), wish));
            RETRO_CHECK(engine::addGeneration(*asked, *model, question, request, made, report, listener.token(), wish));
            run = std::make_shared<Run>(model, std::move(request), std::move(made));
            return {};
        };
        if (const base::Result<void> done = base::caught(pass); !done) {
            refused = done.error();
        }
    }
    listener.finish();
    if (refused) {
        throw Refused(*refused);
    }
    const auto matrix = [](const tensor::Tensor& data) {
        return data.isValid() ? arrayOf(data) : nb::object(nb::none());
    };
    nb::dict maps;
    for (const auto& [layer, map] : report.maps) {
        maps[nb::int_(layer)] = matrix(map);
    }
    return nb::make_tuple(run, base::jsonOut(engine::reportJson(report)), matrix(report.layers), matrix(report.heads),
                          maps, engine::languagePage(report));
}

nb::list describeOptions()
{
    nb::list found;
    for (const QuestionField& field : engine::questionFields()) {
        if (!isOption(field)) {
            continue;
        }
        nb::list choices;
        for (const engine::FieldChoice& choice : field.choices) {
            choices.append(std::string(choice.text));
        }
        found.append(nb::make_tuple(python(field.name), std::string(field.help), choices, isOfModel(field),
                                    isSwitch(field), std::string(field.usual)));
    }
    return found;
}

} // namespace retro::python
