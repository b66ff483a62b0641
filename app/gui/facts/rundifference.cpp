// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/rundifference.h"

#include "core/engine/explain/runrules.h"
#include "core/lrp/composite/composite.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/listtable.h"

#include <QComboBox>
#include <QCompleter>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QStringList>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace retro::app
{

namespace
{

using engine::Comparison;
using engine::ValueDifference;
using views::valueText;
using views::fonts::px;

constexpr std::array kDifferenceActions{views::ActionSpec{
    "view.rundifference", RETRO_ACTION("&Where the runs part…"),
    RETRO_ACTION("Compare the relevance of every value with the run that is held, and name the first node where "
                 "they part"),
    "search", ""}};

/// Relative difference up to which values agree, as `compare` has it.
constexpr double kPartingTolerance = 1e-5;

QString ruleLine(const QString& side, const std::string& rule, const std::string& formula)
{
    const QString known = rule.empty() ? RunDifference::tr("rule not known") : QString::fromStdString(rule);
    return QStringLiteral("    %1: %2%3")
        .arg(side, known, formula.empty() ? QString() : "    " + QString::fromStdString(formula));
}

QString nodeText(const engine::PartingNode& node)
{
    return QStringList{
        RunDifference::tr("%1 (%2)").arg(QString::fromStdString(node.name), QString::fromStdString(node.op)),
        ruleLine(RunDifference::tr("here"), node.ruleA, node.formulaA),
        ruleLine(RunDifference::tr("there"), node.ruleB, node.formulaB)}
        .join(QLatin1Char('\n'));
}

/// "a, b and 4 more".
QString someOf(const std::vector<std::string>& names)
{
    constexpr std::size_t kMostNames = 4;
    QStringList shown;
    for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
        shown << QString::fromStdString(names[i]);
    }
    const QString text = shown.join(QLatin1String(", "));
    return names.size() > kMostNames ? RunDifference::tr("%1 and %2 more").arg(text).arg(names.size() - kMostNames)
                                     : text;
}

/// Between what and what the nodes lie, where values between them are not on both sides.
QString placeText(const engine::Parting& parting)
{
    std::vector<std::string> above = parting.agreeing;
    if (!parting.unknownStart.empty()) {
        above.push_back(RunDifference::tr("%1, where relevance starts and may differ, too,")
                            .arg(QString::fromStdString(parting.unknownStart))
                            .toStdString());
    }
    return RunDifference::tr("Between %1 and %2 lie %3 nodes, not narrowed: values between them are not on both sides.")
        .arg(someOf(above), QString::fromStdString(parting.value.name))
        .arg(parting.nodes.size());
}

void addNodes(const engine::Parting& parting, QStringList& lines)
{
    constexpr std::size_t kMostNodes = 4; // the table stays in sight
    if (!parting.isNarrowed) {
        lines << placeText(parting);
    }
    for (std::size_t i = 0; i < std::min(parting.nodes.size(), kMostNodes); ++i) {
        const QString text = nodeText(parting.nodes[i]);
        const bool isAlone = parting.isNarrowed && parting.nodes.size() == 1;
        lines << (isAlone ? RunDifference::tr("It was handed on by %1").arg(text)
                          : RunDifference::tr("It may have been handed on by %1").arg(text));
    }
    if (parting.nodes.size() > kMostNodes) {
        lines << RunDifference::tr("… or by one of %1 more nodes").arg(parting.nodes.size() - kMostNodes);
    }
}

// What of the arrays took no part, and what was made to fit.
void addRest(const Comparison& comparison, QStringList& lines)
{
    if (!comparison.unmatchedB.empty()) {
        lines << RunDifference::tr("No value has the name %1").arg(someOf(comparison.unmatchedB));
    }
    if (!comparison.skippedB.empty()) {
        lines << RunDifference::tr("Passed over: %1").arg(someOf(comparison.skippedB));
    }
    std::vector<std::string> widened;
    for (const ValueDifference& value : comparison.values) {
        if (!value.note.empty()) {
            widened.push_back(value.name);
        }
    }
    if (!widened.empty()) {
        lines << RunDifference::tr("Without the batch axis: %1").arg(someOf(widened));
    }
}

QTableWidgetItem* cell(const QString& words, bool isNumber)
{
    auto* item = new QTableWidgetItem(words);
    item->setFlags(Qt::ItemIsSelectable | Qt::ItemIsEnabled);
    item->setTextAlignment(Qt::AlignVCenter | (isNumber ? Qt::AlignRight : Qt::AlignLeft));
    if (isNumber) {
        item->setFont(views::fonts::numbers());
    }
    return item;
}

void fillRow(QTableWidget& table, int row, const ValueDifference& value, bool isParting)
{
    const std::array<QString, 6> words{
        QString::fromStdString(value.name), valueText(value.sumA),       valueText(value.sumB),
        valueText(value.largest),           valueText(value.relative()), valueText(value.cosine)};
    for (int column = 0; column < static_cast<int>(words.size()); ++column) {
        QTableWidgetItem* item = cell(words[static_cast<std::size_t>(column)], column > 0);
        if (isParting) {
            QFont font = item->font();
            font.setBold(true);
            item->setFont(font);
            item->setToolTip(RunDifference::tr("Here the runs part"));
        }
        table.setItem(row, column, item);
    }
    table.item(row, 0)->setData(Qt::UserRole, static_cast<qulonglong>(value.value.index()));
}

} // namespace

QString partingText(const Comparison& comparison)
{
    QStringList lines;
    for (const std::string& fact : comparison.differentFacts) {
        lines << QString::fromStdString(fact);
    }
    if (!comparison.parting) {
        lines << RunDifference::tr("The runs agree in %1 values.").arg(comparison.values.size());
        addRest(comparison, lines);
        return lines.join(QLatin1Char('\n'));
    }
    const engine::Parting& parting = *comparison.parting;
    const ValueDifference& value = parting.value;
    lines << (parting.isStart
                  ? RunDifference::tr("They part at %1, where relevance starts: here %2, there %3.")
                  : RunDifference::tr("They part at the relevance of %1: here %2, there %3 where it differs most."))
                 .arg(QString::fromStdString(value.name), valueText(value.a), valueText(value.b));
    addNodes(parting, lines);
    addRest(comparison, lines);
    return lines.join(QLatin1Char('\n'));
}

/// A field that loses the keys says so while there is still somebody to hear it.
RunDifferenceDialog::~RunDifferenceDialog() { hide(); }

RunDifferenceDialog::RunDifferenceDialog(QWidget* parent) : QDialog(parent)
{
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Where the runs part"));
    resize(px(760), px(520));
    auto* column = views::makeBox<QVBoxLayout>(this, {px(16), px(14), px(16), px(14)}, px(10));
    m_summary = new QLabel(this);
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setWordWrap(true);
    m_summary->setAccessibleName(tr("Where the runs part"));
    m_summary->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column->addWidget(m_summary);
    makeRulesField();
    column->addWidget(m_rulesRow);
    m_table = new QTableWidget(0, 6, this);
    m_table->setHorizontalHeaderLabels(
        {tr("Value, from the target"), tr("Σ here"), tr("Σ there"), tr("Largest diff."), tr("Relative"), tr("Cosine")});
    m_table->setAccessibleName(tr("Difference of every value"));
    views::makeList(*m_table, views::fonts::px(22));
    m_table->setFrameShape(QFrame::StyledPanel);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setTextElideMode(Qt::ElideMiddle);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    column->addWidget(m_table, 1);
    connect(m_table, &QTableWidget::currentCellChanged, this, [this](int row) {
        const QTableWidgetItem* item = row < 0 ? nullptr : m_table->item(row, 0);
        if (item != nullptr) {
            emit valueChosen(base::ValueId(static_cast<std::size_t>(item->data(Qt::UserRole).toULongLong())));
        }
    });
}

void RunDifferenceDialog::makeRulesField()
{
    m_rulesRow = new QWidget(this);
    auto* row = views::makeBox<QHBoxLayout>(m_rulesRow, {}, px(8));
    auto* words = new QLabel(tr("&Rules of the other tool"), m_rulesRow);
    m_rules = new QComboBox(m_rulesRow);
    m_rules->setEditable(true);
    m_rules->setInsertPolicy(QComboBox::NoInsert);
    m_rules->completer()->setCompletionMode(QCompleter::PopupCompletion);
    for (const std::string& name : lrp::builtinNames()) {
        m_rules->addItem(QString::fromStdString(name));
    }
    m_rules->setCurrentIndex(-1);
    m_rules->lineEdit()->setPlaceholderText(tr("not known"));
    m_rules->setToolTip(tr("The composite that the arrays were made with, a name with parameters or a composite file: "
                           "its rules and formulas stand beside those of the run"));
    m_rules->setAccessibleName(tr("Rules of the other tool"));
    words->setBuddy(m_rules);
    row->addWidget(words);
    row->addWidget(m_rules, 1);
    m_rulesRow->hide();
    connect(m_rules, &QComboBox::activated, this, &RunDifferenceDialog::takeRules);
    connect(m_rules->lineEdit(), &QLineEdit::editingFinished, this, &RunDifferenceDialog::takeRules);
}

void RunDifferenceDialog::takeRules()
{
    const QString composite = m_rules->currentText().trimmed();
    if (composite != m_takenRules) { // Enter and a choice from the list are said twice
        m_takenRules = composite;
        emit rulesChosen(composite);
    }
}

void RunDifferenceDialog::askForRules(const QString& composite)
{
    m_takenRules = composite;
    m_rules->setCurrentIndex(m_rules->findText(composite));
    m_rules->setEditText(composite);
    m_rulesRow->show();
}

void RunDifferenceDialog::hideRules() { m_rulesRow->hide(); }

void RunDifferenceDialog::showWaiting()
{
    m_summary->setText(tr("Comparing…"));
    m_table->setEnabled(false);
}

void RunDifferenceDialog::showComparison(const Comparison& comparison)
{
    m_summary->setText(partingText(comparison));
    layout()->activate(); // as high as its lines from now on
    m_table->setEnabled(true);
    m_table->setRowCount(0);
    m_table->setRowCount(static_cast<int>(comparison.values.size()));
    for (int row = 0; row < m_table->rowCount(); ++row) {
        const ValueDifference& value = comparison.values[static_cast<std::size_t>(row)];
        const bool isParting = comparison.parting && comparison.parting->value.value == value.value;
        fillRow(*m_table, row, value, isParting);
        if (isParting) {
            m_table->setCurrentCell(row, 0);
            m_table->scrollToItem(m_table->item(row, 0), QAbstractItemView::PositionAtCenter);
        }
    }
}

void RunDifferenceDialog::showError(const QString& what)
{
    m_summary->setText(what);
    m_table->setRowCount(0);
}

void addRunDifferenceAction(views::ActionRegistry& actions) { actions.addAll(kDifferenceActions); }

RunDifference::RunDifference(views::ActionRegistry& actions, views::RunModel& model, views::Selection& selection,
                             OtherRun other, QWidget& window)
    : QObject(&window), m_model(model), m_selection(selection), m_other(std::move(other)), m_window(window),
      m_jobs(this)
{
    connect(&actions.at(QStringLiteral("view.rundifference")), &QAction::triggered, this, &RunDifference::show);
    connect(&model, &views::RunModel::runChanged, this, [this] {
        if (m_dialog && (m_other() || !m_path.isEmpty()) && hasRun()) {
            compute();
        }
    });
}

void RunDifference::show()
{
    if (!hasRun()) {
        emit said(tr("Run the model first: two runs are compared."));
        return;
    }
    if (!m_other()) {
        emit said(tr("There is no other run. Hold this one, then run with another rule, target or input."));
        return;
    }
    m_path.clear();
    m_arrays.reset();
    openDialog();
    m_dialog->hideRules();
    compute();
}

void RunDifference::compareWith(const QString& path)
{
    if (!hasRun()) {
        emit said(tr("Open a model and run it first: arrays (.npz) are compared with a run."));
        return;
    }
    m_path = path;
    m_arrays.reset();
    openDialog();
    m_dialog->askForRules(m_composite); // arrays are written again and again by the same tool
    compute();
}

void RunDifference::openDialog()
{
    if (!m_dialog) {
        m_dialog = new RunDifferenceDialog(&m_window);
        connect(m_dialog, &RunDifferenceDialog::valueChosen, this, [this](base::ValueId value) {
            if (m_model.hasRun() && value.index() < m_model.graph().valueCount()) {
                m_selection.selectNode(m_model.graph().nodeOf(value));
            }
        });
        connect(m_dialog, &RunDifferenceDialog::rulesChosen, this, [this](const QString& composite) {
            m_composite = composite;
            if (hasRun() && !m_path.isEmpty()) {
                compute();
            }
        });
    }
    m_dialog->show();
    m_dialog->raise();
}

void RunDifference::compute()
{
    m_dialog->showWaiting();
    start({m_path.isEmpty() ? m_other() : nullptr, m_arrays, m_path, m_composite});
}

void RunDifference::start(const Comparand& there)
{
    const engine::ComparedSide here{"here", m_model.handleOfItsOwn().run, {}};
    m_jobs.start([this, here, there](const std::stop_token& stop) {
        auto arrays = std::make_shared<ArraysPointer>(there.arrays);
        auto compared = std::make_shared<base::Result<Comparison>>(compareSides(here, there, *arrays, stop));
        return views::JobRunner::Delivery([this, compared, arrays, path = there.path] {
            if (!m_dialog) {
                return;
            }
            m_arrays = path == m_path ? *arrays : m_arrays;
            if (compared->ok()) {
                m_dialog->showComparison(**compared);
            } else {
                m_dialog->showError(QString::fromStdString(compared->error().text()));
            }
        });
    });
}

base::Result<Comparison> RunDifference::compareSides(const engine::ComparedSide& here, const Comparand& there,
                                                     ArraysPointer& arrays, const std::stop_token& stop)
{
    if (there.run) {
        return engine::compare(here, {"there", there.run, {}}, kPartingTolerance, stop);
    }
    if (!arrays) {
        RETRO_TRY(engine::ComparedSide read, engine::readCompared(there.path.toStdString()));
        arrays = std::make_shared<const engine::ComparedSide>(std::move(read));
    }
    if (there.composite.isEmpty()) {
        return engine::compare(here, *arrays, kPartingTolerance, stop);
    }
    engine::ComparedSide withRules = *arrays;
    RETRO_TRY(withRules.rules, base::within(engine::rulesFor(*here.run, there.composite.toStdString(), stop),
                                            RunDifference::tr("rules of the other tool").toStdString()));
    return engine::compare(here, withRules, kPartingTolerance, stop);
}

} // namespace retro::app

#include "moc_rundifference.cpp"
