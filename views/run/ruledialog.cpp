// SPDX-License-Identifier: Apache-2.0
#include "views/run/ruledialog.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/style.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStringList>
#include <QVBoxLayout>

#include <algorithm>

namespace retro::views
{

namespace
{

QLabel* makeLabel(const QString& name, const QFont& font, QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setFont(font);
    label->setAccessibleName(name);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setForegroundRole(QPalette::WindowText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

QComboBox* makeBox(const QString& name, const QString& tip, QWidget* parent)
{
    auto* box = new QComboBox(parent);
    box->setAccessibleName(name);
    box->setToolTip(tip);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    return box;
}

} // namespace

RuleDialog::RuleDialog(RuleQuestion question, QWidget* parent) : QDialog(parent), m_question(std::move(question))
{
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Change rule"));
    setMinimumWidth(fonts::px(460));
    auto* column =
        makeBox<QVBoxLayout>(this, {fonts::px(16), fonts::px(14), fonts::px(16), fonts::px(14)}, fonts::px(8));
    auto* node = makeLabel(tr("Node"), fonts::content(QFont::DemiBold), this);
    node->setText(m_question.node);
    column->addWidget(node);
    auto* now = makeLabel(tr("Rule it has now"), fonts::label(), this);
    now->setText(tr("Now: %1").arg(m_question.now));
    column->addWidget(now);
    m_form = new QFormLayout;
    m_form->setHorizontalSpacing(fonts::px(12));
    m_form->setVerticalSpacing(fonts::px(6));
    m_form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    column->addLayout(m_form);
    m_reach = makeBox(tr("Applies to"), tr("Which nodes get the rule"), this);
    m_rule = makeBox(tr("Rule"), tr("The rules that this node can have"), this);
    m_form->addRow(tr("Applies to"), m_reach);
    m_form->addRow(tr("Rule"), m_rule);
    m_formula = makeLabel(tr("Formula"), fonts::numbers(), this);
    column->addWidget(m_formula);
    m_numbers = makeLabel(tr("Numbers of this node"), fonts::label(), this);
    m_numbers->setText(m_question.numbers);
    m_numbers->setVisible(!m_question.numbers.isEmpty());
    column->addWidget(m_numbers);
    m_fields = new QWidget(this);
    column->addWidget(m_fields);
    column->addStretch(1);
    m_text = makeLabel(tr("As on the command line"), fonts::numbers(), this);
    column->addWidget(m_text);
    m_problem = makeLabel(tr("Problem"), fonts::label(), this);
    column->addWidget(m_problem);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_run = buttons->addButton(tr("Run below it"), QDialogButtonBox::AcceptRole);
    m_run->setDefault(true);
    m_run->setToolTip(tr("Holds this run to compare with, and computes again what lies below the change"));
    setFilled(*m_run, true);
    column->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        emit chosen(text());
        accept();
    });
    fillBoxes();
    connect(m_reach, &QComboBox::currentIndexChanged, this, &RuleDialog::showText);
    connect(m_rule, &QComboBox::currentIndexChanged, this, &RuleDialog::showRule);
    connect(&ThemeHub::instance(), &ThemeHub::changed, this, &RuleDialog::applyColors);
    applyColors();
    showRule();
}

void RuleDialog::fillBoxes()
{
    for (const RuleReach& reach : m_question.reaches) {
        m_reach->addItem(reach.title, reach.matcher);
    }
    for (const RuleOption& option : m_question.rules) {
        m_rule->addItem(option.name);
    }
    m_rule->setCurrentIndex(std::max(0, m_rule->findText(m_question.current)));
}

const RuleOption* RuleDialog::rule() const
{
    const auto at = static_cast<std::size_t>(std::max(0, m_rule->currentIndex()));
    return at < m_question.rules.size() ? &m_question.rules[at] : nullptr;
}

void RuleDialog::showRule()
{
    auto* fields = new QWidget(this);
    auto* form = new QFormLayout(fields);
    form->setContentsMargins(0, 0, 0, 0);
    form->setHorizontalSpacing(fonts::px(12));
    form->setVerticalSpacing(fonts::px(6));
    m_values.clear();
    const RuleOption* chosen = rule();
    for (std::size_t i = 0; chosen != nullptr && i < chosen->parameters.size(); ++i) {
        form->addRow(chosen->parameters[i].first, makeField(*chosen, i, fields));
    }
    layout()->replaceWidget(m_fields, fields);
    delete m_fields;
    m_fields = fields;
    m_fields->setVisible(!m_values.empty());
    showText();
    adjustSize();
}

/// A list where the parameter has words to choose from, else a line.
QWidget* RuleDialog::makeField(const RuleOption& rule, std::size_t parameter, QWidget* parent)
{
    const auto& [key, usual] = rule.parameters[parameter];
    const QString present = parameter < rule.present.size() ? rule.present[parameter] : usual;
    const QStringList options = parameter < rule.options.size() ? rule.options[parameter] : QStringList();
    QWidget* field = nullptr;
    if (options.isEmpty()) {
        auto* line = new QLineEdit(present, parent);
        line->setFont(fonts::numbers());
        connect(line, &QLineEdit::textChanged, this, &RuleDialog::showText);
        m_values.emplace_back([line] { return line->text().trimmed(); });
        field = line;
    } else {
        auto* box = new QComboBox(parent);
        box->addItems(options);
        box->setCurrentIndex(std::max(0, box->findText(present)));
        connect(box, &QComboBox::currentIndexChanged, this, &RuleDialog::showText);
        m_values.emplace_back([box] { return box->currentText(); });
        field = box;
    }
    field->setObjectName(key);
    field->setAccessibleName(key);
    field->setToolTip(usual.isEmpty() ? tr("Usually not given") : tr("Usually %1").arg(usual));
    return field;
}

QString RuleDialog::text() const
{
    const RuleOption* chosen = rule();
    if (chosen == nullptr) {
        return {};
    }
    QStringList given;
    for (std::size_t i = 0; i < m_values.size(); ++i) {
        const auto& [key, usual] = chosen->parameters[i];
        const QString value = m_values[i]();
        if (value != usual) {
            given << key + QLatin1Char('=') + value;
        }
    }
    const QString parameters = given.isEmpty() ? QString() : QLatin1Char(':') + given.join(QLatin1Char(','));
    return m_reach->currentData().toString() + QLatin1Char('=') + chosen->name + parameters;
}

void RuleDialog::showText()
{
    const QString problem = m_question.problemOf ? m_question.problemOf(text()) : QString();
    m_text->setText(QStringLiteral("--rule '%1'").arg(text()));
    m_problem->setText(problem);
    m_problem->setVisible(!problem.isEmpty());
    m_run->setEnabled(problem.isEmpty() && rule() != nullptr && m_reach->count() > 0);
    showFormula(problem.isEmpty());
}

// With the parameters as they stand; while they cannot be read, that of the rule as it usually is.
void RuleDialog::showFormula(bool isReadable)
{
    const RuleOption* chosen = rule();
    const QString usual = chosen != nullptr ? chosen->formula : QString();
    m_formula->setText(chosen != nullptr && isReadable && m_question.formulaOf ? m_question.formulaOf(text()) : usual);
    m_formula->setVisible(!m_formula->text().isEmpty());
}

void RuleDialog::applyColors()
{
    const auto paint = [this](QLabel& label, Role role) {
        QPalette palette = label.palette();
        palette.setColor(QPalette::WindowText, theme(this)[role]);
        label.setPalette(palette);
    };
    paint(*m_formula, Role::Text2);
    paint(*m_text, Role::Text3);
    paint(*m_problem, Role::AlarmText);
}

} // namespace retro::views

#include "moc_ruledialog.cpp"
