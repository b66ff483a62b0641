// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/rulecontroller.h"

#include "core/base/file.h"
#include "core/engine/explain/rulechoices.h"
#include "core/engine/question/resolve.h"
#include "core/lrp/composite/ruleoverride.h"
#include "core/lrp/rules/parametertext.h"
#include "core/lrp/rules/ruleformulas.h"
#include "core/trace/ledgersummary.h"
#include "views/common/numbertext.h"
#include "views/common/stringlist.h"
#include "views/run/ruledialog.h"
#include "views/run/runpanel.h"

#include <QFileDialog>

#include <algorithm>
#include <array>
#include <limits>

namespace retro::app
{

namespace
{

using views::ActionSpec;

constexpr std::array kRuleActions{
    ActionSpec{"run.changerule", RETRO_ACTION("Change r&ule of this node…"),
               RETRO_ACTION("Give the selected node, its type or its scope another rule and run again below it"),
               "node", "Ctrl+U"},
    ActionSpec{"run.resetrules", RETRO_ACTION("&Take changed rules back"),
               RETRO_ACTION("Run again with the rules of the composite alone"), "undo", ""},
    ActionSpec{"export.composite", RETRO_ACTION("&Composite…"),
               RETRO_ACTION("Write the rules of the next run, with those that were changed, as a composite file"),
               "save", ""},
};

/// Matchers that reach a node, from the closest to the widest.
std::vector<views::RuleReach> reachesOf(const execute::BoundModel& model, base::NodeId id)
{
    const graph::Node& node = model.graph().node(id);
    const ops::StructureKind kind = model.op(id).structure().kind();
    std::vector<views::RuleReach> reaches;
    const auto add = [&reaches](const QString& title, const lrp::Matcher& matcher) {
        const std::string written = lrp::overrideText(matcher, "", {});
        reaches.push_back(
            {title, QString::fromUtf8(std::string_view(written).substr(0, written.size() - 1))}); // without the =
    };
    lrp::Matcher matcher;
    matcher.nameGlob = node.name;
    if (!node.name.empty()) {
        add(RuleController::tr("This node"), matcher);
    }
    const QString type = QString::fromStdString(node.op);
    for (std::string scope = node.scope; !scope.empty();
         scope = scope.substr(0, scope.rfind('/') == std::string::npos ? 0 : scope.rfind('/'))) {
        matcher = {};
        matcher.scope = scope;
        matcher.ops = {node.op};
        add(RuleController::tr("Every %1 in %2").arg(type, QString::fromStdString(scope)), matcher);
    }
    matcher = {};
    matcher.ops = {node.op};
    add(RuleController::tr("Every %1").arg(type), matcher);
    matcher = {};
    matcher.structure = kind;
    add(RuleController::tr("Every node of structure %1").arg(QString::fromUtf8(ops::nameOf(kind))), matcher);
    return reaches;
}

QString valueText(const std::string& key, const lrp::RuleParameter& value)
{
    const std::string whole = lrp::textOf(lrp::RuleParameters{{key, value}});
    return QString::fromStdString(whole.substr(key.size() + 1));
}

/// The node's own numbers in the fields of its rule; those that the rule has beside the usual ones behind them.
void takePresent(const lrp::Rule& rule, views::RuleOption& option)
{
    const lrp::RuleParameters own = rule.parameters();
    for (const auto& [key, usual] : option.parameters) {
        const auto at = own.find(key.toStdString());
        option.present.push_back(at == own.end() ? usual : valueText(at->first, at->second));
    }
    for (const auto& [key, value] : own) {
        const QString name = QString::fromStdString(key);
        const bool isUsual =
            std::ranges::any_of(option.parameters, [&name](const auto& one) { return one.first == name; });
        if (!isUsual) {
            option.parameters.emplace_back(name, QString());
            option.present.push_back(valueText(key, value));
        }
    }
}

std::vector<views::RuleOption> optionsOf(const execute::BoundModel& model, base::NodeId node)
{
    std::vector<views::RuleOption> options;
    for (const engine::RuleChoice& choice : engine::ruleChoices(model, node)) {
        views::RuleOption option{QString::fromStdString(choice.name), QString::fromStdString(choice.formula)};
        for (const auto& [key, value] : choice.parameters) {
            option.parameters.emplace_back(QString::fromStdString(key), valueText(key, value));
            const auto words = choice.options.find(key);
            option.options.push_back(words == choice.options.end() ? QStringList() : views::stringList(words->second));
        }
        options.push_back(std::move(option));
    }
    return options;
}

QString problemOfOverride(const QString& override)
{
    const auto entry = lrp::parseOverride(override.toStdString());
    return entry ? QString() : QString::fromStdString(entry.error().message);
}

QString formulaOfOverride(const QString& override, std::string_view structure)
{
    const auto entry = lrp::parseOverride(override.toStdString());
    return entry ? QString::fromStdString(lrp::formulaOf(entry->rule->text(), structure)) : QString();
}

/// "Here: R_out = 6.200 arrived, R_in = 6.180 went on, 0.020 did not (bias 0.018, stabiliser 0.002)."
QString balanceWords(const trace::Run& run, base::NodeId node)
{
    const auto balances = trace::balancesOf(run, 0, std::numeric_limits<std::uint32_t>::max());
    const auto at = std::ranges::find(balances, node, &trace::NodeBalance::node);
    if (at == balances.end()) {
        return {};
    }
    QStringList causes;
    for (std::size_t i = 0; i < at->causes.size(); ++i) {
        if (at->causes[i] != 0) {
            const std::string_view name = event::nameOf(static_cast<event::Cause>(i));
            causes << QStringLiteral("%1 %2").arg(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())),
                                                  views::valueText(at->causes[i]));
        }
    }
    const QString went = RuleController::tr("At this node R = %1 arrived and %2 went on.")
                             .arg(views::valueText(at->arrived), views::valueText(at->handedOn));
    return causes.isEmpty()
               ? went
               : went + QLatin1Char(' ') + RuleController::tr("The rest: %1.").arg(causes.join(QStringLiteral(", ")));
}

std::string matcherOf(const std::string& override)
{
    const auto entry = lrp::parseOverride(override);
    return entry ? lrp::overrideText(entry->matcher, "", {}) : override;
}

} // namespace

void addRuleActions(views::ActionRegistry& actions) { actions.addAll(kRuleActions); }

RuleController::RuleController(views::ActionRegistry& actions, views::RunModel& model, views::Selection& selection,
                               views::RunPanel& panel, QWidget& window)
    : QObject(&window), m_model(model), m_selection(selection), m_panel(panel), m_window(window)
{
    connect(&actions.at(QStringLiteral("run.changerule")), &QAction::triggered, this,
            [this] { change(m_model.hasRun() ? m_model.nodeOf(m_selection.thing()) : base::NodeId()); });
    connect(&actions.at(QStringLiteral("run.resetrules")), &QAction::triggered, this, &RuleController::reset);
    connect(&actions.at(QStringLiteral("export.composite")), &QAction::triggered, this, &RuleController::chooseFile);
    connect(&panel, &views::RunPanel::overridesChanged, this, [this] {
        emit holdWanted();
        emit runWanted();
    });
}

void RuleController::take(const ExplainDone& done)
{
    m_bound = done.model ? done.bound : nullptr;
    m_assigned = done.model ? done.assigned : nullptr;
}

views::RuleQuestion RuleController::questionOf(base::NodeId node) const
{
    views::RuleQuestion question;
    const auto& rules = m_model.run().rules;
    const bool isKnown = m_bound && m_model.run().graph == m_bound->sharedGraph() && node.index() < rules.size() &&
                         !rules[node.index()].rule.empty();
    if (!isKnown) {
        return question;
    }
    const trace::NodeRule& rule = rules[node.index()];
    const graph::Graph& graph = m_bound->graph();
    question.node = tr("%1 (%2, %3)")
                        .arg(QString::fromUtf8(graph.labelOf(node)), QString::fromUtf8(graph.opOf(node)),
                             QString::fromUtf8(rule.structure));
    question.now = tr("%1, chosen by %2").arg(QString::fromUtf8(rule.rule), QString::fromUtf8(rule.matcher));
    question.numbers = balanceWords(m_model.run(), node);
    question.reaches = reachesOf(*m_bound, node);
    question.rules = optionsOf(*m_bound, node);
    for (const views::RuleOption& option : question.rules) {
        // The longest name that the text begins with: "z-plus" and not "z".
        const bool isIt = question.now.startsWith(option.name) && option.name.size() > question.current.size();
        question.current = isIt ? option.name : question.current;
    }
    const lrp::Rule* own =
        m_assigned && node.index() < m_assigned->size() ? (*m_assigned)[node.index()].rule.get() : nullptr;
    const auto present = std::ranges::find_if(question.rules, [own](const views::RuleOption& option) {
        return own != nullptr && option.name == QString::fromUtf8(own->name());
    });
    if (present != question.rules.end()) {
        takePresent(*own, *present);
    }
    question.problemOf = problemOfOverride;
    question.formulaOf = [structure = rule.structure](const QString& override) {
        return formulaOfOverride(override, structure);
    };
    return question;
}

void RuleController::change(base::NodeId node)
{
    if (!m_bound || !m_model.hasRun()) {
        emit said(tr("A recorded run has the rules that it was made with. Open its model and run it to change them."));
        return;
    }
    if (!node.isValid()) {
        emit said(tr("Select the node whose rule is to be changed."));
        return;
    }
    const views::RuleQuestion question = questionOf(node);
    if (question.rules.empty()) {
        emit said(tr("No relevance passes this node, so it has no rule."));
        return;
    }
    auto* dialog = new views::RuleDialog(question, &m_window);
    connect(dialog, &views::RuleDialog::chosen, this, &RuleController::put);
    dialog->open();
}

void RuleController::put(const QString& text)
{
    QStringList overrides = views::stringList(m_panel.question().rules);
    const std::string matcher = matcherOf(text.toStdString());
    overrides.removeIf([&](const QString& one) { return matcherOf(one.toStdString()) == matcher; });
    overrides.prepend(text);
    m_panel.setOverrides(overrides);
    emit holdWanted();
    emit runWanted();
}

void RuleController::reset()
{
    if (m_panel.question().rules.empty()) {
        emit said(tr("No rule was changed."));
        return;
    }
    m_panel.setOverrides({});
    emit holdWanted();
    emit runWanted();
}

base::Result<void> RuleController::saveComposite(const QString& path) const
{
    if (!m_bound) {
        return base::usageError("rules are those of a model and an input; open a model and run it first");
    }
    const engine::Question asked = engine::completed(m_panel.question(), nullptr);
    RETRO_TRY(const lrp::Composite composite, engine::resolveComposite(asked.composite, *m_bound));
    return base::writeFile(path.toStdString(), lrp::toJson(composite));
}

void RuleController::chooseFile()
{
    const QString path = QFileDialog::getSaveFileName(&m_window, tr("Save composite"), QStringLiteral("composite.json"),
                                                      tr("Composites (*.json)"));
    if (path.isEmpty()) {
        return;
    }
    if (const base::Result<void> saved = saveComposite(path); saved) {
        emit said(tr("Wrote %1").arg(path));
    } else {
        emit failed(saved.error());
    }
}

void putComposite(const std::string& specification, engine::Question& question)
{
    lrp::Specification parted = lrp::splitSpecification(specification);
    question.composite = std::move(parted.base);
    question.rules = std::move(parted.overrides);
}

} // namespace retro::app

#include "moc_rulecontroller.cpp"
