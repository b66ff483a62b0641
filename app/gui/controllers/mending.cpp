// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/mending.h"

#include "app/gui/window/filefilters.h"
#include "core/engine/explain/target.h"
#include "core/engine/input/inputs.h"
#include "core/lrp/composite/ruleoverride.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>

namespace retro::app
{

using base::Result;
using diagnosis::Finding;

namespace
{

QString mendText(const char* text) { return QCoreApplication::translate("retro::app::mending", text); }

QString argumentOf(const Finding& finding, const char* name)
{
    const auto at = finding.action.arguments.find(name);
    return at == finding.action.arguments.end() ? QString() : QString::fromStdString(at->second);
}

/// The words of a command line; a blank inside '…' divides nothing.
QStringList wordsOf(const QString& text)
{
    QStringList words;
    QString word;
    bool isQuoted = false;
    for (const QChar c : text) {
        if (c == QLatin1Char('\'')) {
            isQuoted = !isQuoted;
        } else if (c.isSpace() && !isQuoted) {
            words << word;
            word.clear();
        } else {
            word += c;
        }
    }
    words << word;
    words.removeAll(QString());
    return words;
}

/// What stands behind every `name` of the option: "--rule name:/a=epsilon" has "name:/a=epsilon".
QStringList optionsOf(const Finding& finding, const QString& name)
{
    const QStringList words = wordsOf(QString::fromStdString(finding.action.option));
    QStringList values;
    for (qsizetype i = 0; i + 1 < words.size(); ++i) {
        if (words[i] == name) {
            values << words[i + 1];
        }
    }
    return values;
}

QString optionOf(const Finding& finding, const QString& name) { return optionsOf(finding, name).value(0); }

// The question: how each of its parts is changed stands here and nowhere else.

std::string matcherOfRule(const std::string& rule)
{
    const auto entry = lrp::parseOverride(rule);
    return entry ? lrp::overrideText(entry->matcher, "", {}) : rule;
}

/// One for the same nodes goes.
void putRule(engine::Question& question, const QString& rule)
{
    const std::string matcher = matcherOfRule(rule.toStdString());
    std::erase_if(question.rules, [&](const std::string& one) { return matcherOfRule(one) == matcher; });
    question.rules.insert(question.rules.begin(), rule.toStdString());
}

/// "z-plus with bias=zero" of "name:/conv=z-plus:bias=zero".
QString ruleWords(const QString& rule)
{
    const QString matcher = QString::fromStdString(matcherOfRule(rule.toStdString()));
    QString words = rule.startsWith(matcher) ? rule.mid(matcher.size()) : rule;
    if (const qsizetype colon = words.indexOf(QLatin1Char(':')); colon >= 0) {
        words.replace(colon, 1, mendText(QT_TRANSLATE_NOOP("retro::app::mending", " with ")));
    }
    return words;
}

/// False when it is none of those that were put before the composite.
bool dropRule(engine::Question& question, const QString& matcher)
{
    const std::string start = matcher.toStdString() + "=";
    return std::erase_if(question.rules, [&](const std::string& one) {
               return matcherOfRule(one) == start || one + "=" == start || one.starts_with(start);
           }) > 0;
}

void setComposite(engine::Question& question, const QString& composite)
{
    const lrp::Specification parted = lrp::splitSpecification(composite.toStdString());
    question.composite = parted.base;
    question.rules = parted.overrides;
}

base::NodeId nodeNamed(const MendStage& stage, const QString& name)
{
    const auto node = stage.graph != nullptr ? stage.graph->findNode(name.toStdString()) : std::nullopt;
    return node.value_or(base::NodeId());
}

Mend ask(const QString& text, const QString& tip, engine::Question question)
{
    Mend mend{MendBy::Question, text, tip};
    mend.question = std::move(question);
    return mend;
}

Mend chooseRule(base::NodeId node)
{
    if (!node.isValid()) {
        return {};
    }
    Mend mend{MendBy::Dialog, mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Change rule…")),
              mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Choose another rule for this node and run again"))};
    mend.node = node;
    return mend;
}

Mend changeRule(const Finding& finding, const MendStage& stage)
{
    const QString rule = optionOf(finding, QStringLiteral("--rule"));
    const auto entry = rule.isEmpty() ? base::Result<lrp::CompositeEntry>(base::usageError("no rule"))
                                      : lrp::parseOverride(rule.toStdString());
    if (!entry) {
        return chooseRule(nodeNamed(stage, argumentOf(finding, "node")));
    }
    engine::Question question = stage.question;
    putRule(question, rule);
    return ask(
        mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Use %1 here")).arg(ruleWords(rule)),
        mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Run again with --rule %1 before the composite")).arg(rule),
        std::move(question));
}

Mend removeRule(const Finding& finding, const MendStage& stage)
{
    engine::Question question = stage.question;
    const QString entry = argumentOf(finding, "entry");
    if (!entry.isEmpty() && dropRule(question, entry)) {
        return ask(mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Remove rule")),
                   mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Run again without %1")).arg(entry),
                   std::move(question));
    }
    return chooseRule(nodeNamed(stage, argumentOf(finding, "node"))); // it stands in the composite itself
}

/// Another composite, or rules before the one that there is.
Mend switchComposite(const Finding& finding, const MendStage& stage)
{
    const QString composite = optionOf(finding, QStringLiteral("--composite"));
    QStringList rules = optionsOf(finding, QStringLiteral("--rule"));
    if (composite.isEmpty() && rules.isEmpty()) {
        return {};
    }
    engine::Question question = stage.question;
    if (!composite.isEmpty()) {
        setComposite(question, composite);
    }
    std::ranges::reverse(rules); // the first is to stand first
    for (const QString& rule : rules) {
        putRule(question, rule);
    }
    return ask(mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Use these rules")),
               mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Run again with %1"))
                   .arg(QString::fromStdString(finding.action.option)),
               std::move(question));
}

Mend chooseTarget(const Finding& finding, const MendStage& stage)
{
    QString target = optionOf(finding, QStringLiteral("--target"));
    target = target.isEmpty() ? argumentOf(finding, "target") : target;
    if (target.isEmpty() || !engine::parseTarget(target.toStdString())) {
        return {};
    }
    engine::Question question = stage.question;
    question.targets = {target.toStdString()};
    bool isClass = false;
    const auto at = static_cast<std::size_t>(target.toUInt(&isClass));
    const bool hasName = isClass && stage.card != nullptr && at < stage.card->labels.size();
    return ask(mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Explain %1"))
                   .arg(hasName   ? QString::fromStdString(stage.card->labels[at])
                        : isClass ? mendText(QT_TRANSLATE_NOOP("retro::app::mending", "class %1")).arg(target)
                                  : target),
               mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Run again with --target %1")).arg(target),
               std::move(question));
}

/// A picture gets its preparation from the card again; an array gets the numbers.
Mend applyCard(const MendStage& stage)
{
    if (stage.card == nullptr || stage.question.inputs.empty()) {
        return {};
    }
    const QString text = mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Apply the card"));
    if (engine::isPictureFile(stage.question.inputs.front())) {
        engine::Question question = stage.question; // what is not said is taken from the card
        question.mean.clear();
        question.deviation.clear();
        question.scale.clear();
        question.layout.clear();
        question.channels.clear();
        question.frame.clear();
        return ask(text,
                   mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Run again with scale, mean and std of the card")),
                   std::move(question));
    }
    return {MendBy::Rescale, text,
            mendText(QT_TRANSLATE_NOOP("retro::app::mending",
                                       "Apply scale, mean and std of the card to a copy of the array, and run that"))};
}

/// Options of a picture or a text as a command line takes them: "--channels BGR --scale 0,255".
Mend prepareInput(const Finding& finding, const MendStage& stage)
{
    const QString options = argumentOf(finding, "option");
    if (options.isEmpty()) {
        return {};
    }
    engine::Question question = stage.question;
    for (const QString& option : (QLatin1Char(' ') + options).split(QStringLiteral(" --"), Qt::SkipEmptyParts)) {
        const qsizetype space = option.indexOf(QLatin1Char(' '));
        const engine::QuestionField& field = engine::questionField(option.left(space).toStdString());
        if (!stage.isPicture && !field.isOfTexts) {
            return {};
        }
        std::vector<std::string> texts{option.mid(space + 1).toStdString()};
        if (field.takesSeveral) {
            texts.clear();
            for (const QString& text : option.mid(space + 1).split(QLatin1Char(','))) {
                texts.push_back(text.toStdString());
            }
        }
        engine::setTexts(field, texts, question);
    }
    return ask(mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Make it so")),
               mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Run again with %1")).arg(options),
               std::move(question));
}

Mend transposeInput(const Finding& finding)
{
    Mend mend{
        MendBy::Transpose, mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Transpose input")),
        mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Run a copy of the array with its axes in the order %1"))
            .arg(argumentOf(finding, "order"))};
    for (const QString& axis : argumentOf(finding, "order").split(QLatin1Char(','), Qt::SkipEmptyParts)) {
        mend.order.push_back(axis.trimmed().toLongLong());
    }
    return mend.order.empty() ? Mend() : mend;
}

Mend cover(const Finding& finding, const MendStage& stage)
{
    const auto number = [&](const char* name) { return argumentOf(finding, name).toInt(); };
    const int side = number("side");
    const QRect box(number("column"), number("row"), side > 0 ? side : number("width"),
                    side > 0 ? side : number("height"));
    if (!stage.isPicture || box.isEmpty()) {
        return {};
    }
    Mend mend{MendBy::Cover, mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Cover it")),
              mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Cover these %1 × %2 pixels and run again"))
                  .arg(box.width())
                  .arg(box.height())};
    mend.cover = box;
    return mend;
}

Mend showWeights(const Finding& finding, const MendStage& stage)
{
    const auto value =
        stage.graph != nullptr ? stage.graph->findValue(argumentOf(finding, "value").toStdString()) : std::nullopt;
    if (!value) {
        return {};
    }
    Mend mend{
        MendBy::Weights, mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Show weights")),
        mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Show the numbers of %1")).arg(argumentOf(finding, "value"))};
    mend.value = *value;
    mend.node = nodeNamed(stage, argumentOf(finding, "node"));
    return mend;
}

Mend selectBoth(const Finding& finding, const MendStage& stage)
{
    Mend mend{
        MendBy::SelectBoth, mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Select both")),
        mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Show both nodes in the graph, with the ways between"))};
    mend.node = nodeNamed(stage, argumentOf(finding, "node"));
    mend.other = nodeNamed(stage, argumentOf(finding, "other"));
    return mend.node.isValid() && mend.other.isValid() ? mend : Mend();
}

Mend mergeNorm(const MendStage& stage)
{
    static const std::string kMerge = "merge-batchnorm";
    engine::Question question = stage.question;
    const bool wasOff = std::erase(question.noRewrite, kMerge) > 0 || question.noMergeBatchNorm;
    question.noMergeBatchNorm = false;
    if (!wasOff) {
        return {}; // it is on: this one cannot be merged
    }
    return ask(
        mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Merge BatchNormalization")),
        mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Switch the rewrite merge-batchnorm on and run again")),
        std::move(question));
}

/// The input that is known to be good in the place of this one.
Mend undoInput(const MendStage& stage)
{
    if (stage.reference.isEmpty() || isModelOrRun(stage.reference)) {
        return {};
    }
    engine::Question question = stage.question;
    question.inputs = {stage.reference.toStdString()};
    return ask(mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Use that input")),
               mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Run again with %1")).arg(stage.reference),
               std::move(question));
}

/// What gives nodes other rules; none where the action is something else.
std::optional<Mend> ruleMend(const Finding& finding, const MendStage& stage)
{
    const std::string& kind = finding.action.kind;
    if (kind == "change rule" || kind == "epsilon here") {
        return changeRule(finding, stage);
    }
    if (kind == "same rule for all" || kind == "edit entry") {
        return chooseRule(nodeNamed(stage, argumentOf(finding, "node")));
    }
    if (kind == "remove rule") {
        return removeRule(finding, stage);
    }
    if (kind == "switch composite") {
        return switchComposite(finding, stage);
    }
    return std::nullopt;
}

/// What asks about another target or another input.
Mend questionMend(const Finding& finding, const MendStage& stage)
{
    const std::string& kind = finding.action.kind;
    if (kind == "choose target") {
        return chooseTarget(finding, stage);
    }
    if (kind == "apply the card") {
        return applyCard(stage);
    }
    if (kind == "prepare input") {
        return prepareInput(finding, stage);
    }
    if (kind == "transpose input") {
        return transposeInput(finding);
    }
    if (kind == "cover and run again") {
        return cover(finding, stage);
    }
    if (kind == "undo it") {
        return undoInput(stage);
    }
    return kind == "choose input"
               ? Mend{MendBy::ChooseInput, mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Choose input…")),
                      mendText(QT_TRANSLATE_NOOP("retro::app::mending", "Choose another file and run it"))}
               : Mend();
}

} // namespace

Mend mendOf(const Finding& finding, const MendStage& stage)
{
    const std::string& kind = finding.action.kind;
    if (kind == "go to weights") {
        return showWeights(finding, stage);
    }
    if (kind == "select both nodes") {
        return selectBoth(finding, stage);
    }
    if (stage.isRecorded) {
        return {}; // there is no model to ask
    }
    if (finding.id == "rule.unmerged-bn" || kind == "merge BatchNorm") {
        if (Mend mend = mergeNorm(stage); mend.by != MendBy::Nothing) {
            return mend;
        }
    }
    if (const std::optional<Mend> mend = ruleMend(finding, stage)) {
        return *mend;
    }
    return questionMend(finding, stage);
}

Result<tensor::Tensor> transposed(const tensor::Tensor& input, const std::vector<std::int64_t>& order)
{
    std::vector<std::int64_t> sorted = order;
    std::ranges::sort(sorted);
    bool isOrder = sorted.size() == input.rank();
    for (std::size_t i = 0; isOrder && i < sorted.size(); ++i) {
        isOrder = sorted[i] == static_cast<std::int64_t>(i);
    }
    if (!isOrder) {
        return base::inputError("the order that was found is none of the axes of this array");
    }
    return input.permuted(order).contiguous();
}

Result<tensor::Tensor> rescaled(const tensor::Tensor& input, const formats::ModelCard& card)
{
    if (input.rank() != 4) {
        return base::inputError("only an array of four axes can be taken for a picture");
    }
    const std::size_t axis = card.layout == "NHWC" ? 3 : 1;
    const auto channels = static_cast<std::size_t>(input.shape()[axis]);
    const auto fits = [channels](const std::vector<double>& list) {
        return list.size() <= 1 || list.size() == channels;
    };
    if (!fits(card.mean) || !fits(card.deviation)) {
        return base::inputError("the array has another number of channels than mean and std of the card");
    }
    double most = 0;
    for (std::int64_t i = 0; i < input.size(); ++i) {
        most = std::max(most, input.at(i));
    }
    const double white = most > 1 ? 255 : 1;
    const auto of = [](const std::vector<double>& list, std::size_t channel, double usual) {
        return list.empty() ? usual : list[list.size() == 1 ? 0 : channel];
    };
    const std::int64_t inner = axis == 3 ? 1 : input.shape()[2] * input.shape()[3];
    std::vector<float> numbers(static_cast<std::size_t>(input.size()));
    for (std::int64_t i = 0; i < input.size(); ++i) {
        const auto channel = static_cast<std::size_t>(i / inner) % channels;
        const double pixel = card.scale[0] + input.at(i) / white * (card.scale[1] - card.scale[0]);
        numbers[static_cast<std::size_t>(i)] =
            static_cast<float>((pixel - of(card.mean, channel, 0)) / of(card.deviation, channel, 1));
    }
    return tensor::Tensor::of<float>(input.shape(), numbers);
}

} // namespace retro::app
