// SPDX-License-Identifier: Apache-2.0
#include "views/run/runpanel.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/style.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/run/checkpointfields.h"
#include "views/run/fieldcontrol.h"
#include "views/run/overridefields.h"
#include "views/run/preparationfields.h"
#include "views/run/rewritefields.h"
#include "views/run/rulefields.h"
#include "views/run/thumbnailbutton.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QShowEvent>
#include <QToolButton>
#include <QVBoxLayout>

#include <cmath>

namespace retro::views
{

namespace
{

/// Characters of a choice that can be read however narrow the panel is.
constexpr int kLeastCharacters = 9;

} // namespace

RunPanel::RunPanel(QWidget* parent) : QWidget(parent)
{
    auto* outer = makeBox<QVBoxLayout>(this, {}, 0);
    m_area = new QScrollArea(this);
    m_area->setWidgetResizable(true);
    m_area->setFrameShape(QFrame::NoFrame);
    m_area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_area->setFocusPolicy(Qt::NoFocus);
    auto* content = new QWidget(m_area);
    auto* column = new QVBoxLayout(content);
    const int margin = fonts::px(kMargin);
    column->setContentsMargins(margin, 0, margin, fonts::px(8));
    column->setSpacing(fonts::px(kGap));
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(fonts::px(kGap));
    grid->setVerticalSpacing(fonts::px(6));
    grid->setColumnStretch(1, 1);
    grid->setColumnMinimumWidth(0, static_cast<int>(std::ceil(fonts::widthOf(fonts::label(), tr("Mean, std")))) + 1);
    column->addLayout(grid);
    addModel(*grid);
    addQuestion(*grid);
    addRules(*grid);
    column->addLayout(makeThumbnails());
    m_rules = new RuleFields(content);
    m_rules->setSpecification(m_composite->currentData().toString());
    column->addWidget(m_rules);
    connect(m_rules, &RuleFields::changed, this, &RunPanel::ruleNumbersChanged);
    m_applies = new ElidedLabel({}, Role::Text3, fonts::label(), content);
    m_applies->setAccessibleName(tr("Which rules the layers follow"));
    column->addWidget(m_applies);
    m_estimate = new ElidedLabel({}, Role::Text2, fonts::label(), content);
    m_estimate->setAccessibleName(tr("What a run takes"));
    m_estimate->hide();
    column->addWidget(m_estimate);
    m_reason = new ElidedLabel({}, Role::Text3, fonts::label(), content);
    m_reason->setAccessibleName(tr("Why these rules"));
    m_reason->hide();
    column->addWidget(m_reason);
    m_overrides = new OverrideFields(content);
    column->addWidget(m_overrides);
    connect(m_overrides, &OverrideFields::changed, this, [this] {
        holdWidth();
        emit overridesChanged();
    });
    m_checkpoints = new CheckpointFields(content);
    column->addWidget(m_checkpoints);
    connect(m_checkpoints, &CheckpointFields::changed, this, [this] {
        emit checkpointsChanged(m_checkpoints->checkpoints());
        emit questionChanged();
    });
    m_rewrites = new RewriteFields(content);
    column->addWidget(m_rewrites);
    connect(m_rewrites, &RewriteFields::changed, this, &RunPanel::questionChanged);
    connect(m_rewrites, &RewriteFields::nodeWanted, this, &RunPanel::nodeWanted);
    column->addStretch(1);
    m_area->setWidget(content);
    outer->addWidget(m_area, 1);
    outer->addLayout(makeFoot());

    // A view like the others: on the base colour, not on the window's grey.
    setAutoFillBackground(true);
    for (QWidget* ground : {static_cast<QWidget*>(this), m_area->viewport(), content}) {
        ground->setBackgroundRole(QPalette::Base);
    }
    connect(&ThemeHub::instance(), &ThemeHub::changed, this, &RunPanel::applyColors);
    applyColors();
    setModel({});
}

void RunPanel::addModel(QGridLayout& grid)
{
    addSection(grid, tr("Model"));
    m_model = new ElidedLabel({}, Role::Text, fonts::content(QFont::Medium), this);
    m_changeModel = makeOpenButton(tr("Open another model (Ctrl+O)"));
    const int row = grid.rowCount();
    grid.addWidget(m_model, row, 0, 1, 2);
    grid.addWidget(m_changeModel, row, 2);
    m_summary = new QLabel(this);
    m_summary->setFont(fonts::label());
    m_summary->setForegroundRole(QPalette::WindowText);
    m_summary->setWordWrap(true);
    m_summary->setTextFormat(Qt::PlainText);
    grid.addWidget(m_summary, row + 1, 0, 1, 3);
    m_problem = new QLabel(this);
    m_problem->setFont(fonts::label());
    m_problem->setForegroundRole(QPalette::WindowText);
    m_problem->setWordWrap(true);
    m_problem->setTextFormat(Qt::PlainText);
    grid.addWidget(m_problem, row + 2, 0, 1, 3);
    m_passThrough = new QPushButton(tr("Continue with pass-through"), this);
    m_passThrough->setToolTip(tr("These operators hand their first operand on, in values and in relevance. That is not "
                                 "what the model means, and relevance is not conserved: nothing after them can be "
                                 "trusted, but everything else of the model can be looked at."));
    grid.addWidget(m_passThrough, row + 3, 0, 1, 3);
    connect(m_passThrough, &QPushButton::clicked, this, &RunPanel::passThroughRequested);
    m_openModel = new QPushButton(tr("Open model…"), this);
    m_openModel->setToolTip(tr("Open a model or a recorded run (Ctrl+O)"));
    grid.addWidget(m_openModel, row + 4, 0, 1, 3);
    connect(m_changeModel, &QToolButton::clicked, this, &RunPanel::openModelRequested);
    connect(m_openModel, &QPushButton::clicked, this, [this] {
        if (m_reopen.isEmpty()) {
            emit openModelRequested();
        } else {
            emit reopenRequested(m_reopen);
        }
    });
}

void RunPanel::addQuestion(QGridLayout& grid)
{
    addSection(grid, tr("Input"));
    m_input = new QComboBox(this);
    m_openInput = makeOpenButton(tr("Choose a picture, an .npy or a .txt file"));
    m_fields.push_back({m_openInput, m_openInput->toolTip()});
    m_inputName = addField(grid, engine::questionField("input"), *m_input, m_openInput);
    connect(m_openInput, &QToolButton::clicked, this, &RunPanel::openInputRequested);
    connect(m_input, &QComboBox::activated, this, &RunPanel::questionChanged);
    addTableFields(grid, true);
    addShape(grid);
    m_preparation = new PreparationFields(this);
    grid.addWidget(m_preparation, grid.rowCount(), 0, 1, 3);
    connect(m_preparation, &PreparationFields::changed, this, &RunPanel::takePreparation);
    addSection(grid, tr("Question"));
    m_target = new QComboBox(this);
    addField(grid, engine::questionField("target"), *m_target);
    m_value = new QLineEdit(this);
    m_value->setObjectName(QStringLiteral("value"));
    m_value->setAccessibleName(tr("Value to explain"));
    m_value->setToolTip(tr("Name of a value, with indices if wanted: /block1/add:0,3"));
    m_value->setPlaceholderText(tr("name, or name:i,j"));
    m_value->hide();
    grid.addWidget(m_value, grid.rowCount(), 1, 1, 2);
    m_passes = new QToolButton(this);
    m_passes->setObjectName(QStringLiteral("passes"));
    m_passes->setFont(fonts::label());
    m_passes->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_passes->hide();
    grid.addWidget(m_passes, grid.rowCount(), 0, 1, 3);
    connect(m_passes, &QToolButton::clicked, this, [this] {
        setConditions({}, {});
        emit askRequested();
    });
    connect(m_target, &QComboBox::activated, this, &RunPanel::takeTarget);
    connect(m_value, &QLineEdit::editingFinished, this, &RunPanel::questionChanged);
    addTableFields(grid, false);
}

void RunPanel::addTableFields(QGridLayout& grid, bool areOfData)
{
    static const QStringList kOfData{QStringLiteral("text"), QStringLiteral("tokenizer"), QStringLiteral("ids")};
    // These have controls of their own, which know the model.
    static const QStringList kOwn{QStringLiteral("input"), QStringLiteral("shape"), QStringLiteral("target"),
                                  QStringLiteral("composite")};
    for (const engine::QuestionField& field : engine::questionFields()) {
        const bool isHere = kOfData.contains(text(field.name)) == areOfData;
        if (isHere && !field.title.empty() && !kOwn.contains(text(field.name))) {
            QWidget* widget = makeControl(field, *this, [this] { emit questionChanged(); });
            widget->setObjectName(text(field.name));
            QToolButton* button = nullptr;
            if (field.name == "tokenizer") {
                button = makeOpenButton(tr("Choose a tokenizer.json"));
                button->setObjectName(QStringLiteral("openTokenizer"));
                connect(button, &QToolButton::clicked, this, &RunPanel::openTokenizerRequested);
                m_fields.push_back({button, button->toolTip()});
            }
            QWidget* label = addField(grid, field, *widget, button);
            m_tableFields.push_back({&field, widget, label, button});
        }
    }
}

void RunPanel::addShape(QGridLayout& grid)
{
    const engine::QuestionField& asked = engine::questionField("shape");
    m_shapeName = new ElidedLabel(translated(asked.title), Role::Text2, fonts::label(), this);
    m_shapeName->setMinimumWidth(m_shapeName->sizeHint().width());
    m_shape = new QLineEdit(this);
    m_shape->setObjectName(QStringLiteral("shape"));
    m_shape->setAccessibleName(tr("Shape of the input"));
    m_shape->setToolTip(translated(asked.tip));
    m_shapeName->setBuddy(m_shape);
    const int row = grid.rowCount();
    grid.addWidget(m_shapeName, row, 0);
    grid.addWidget(m_shape, row, 1, 1, 2);
    connect(m_shape, &QLineEdit::editingFinished, this, &RunPanel::questionChanged);
}

void RunPanel::addRules(QGridLayout& grid)
{
    addSection(grid, tr("Rules"));
    m_composite = new QComboBox(this);
    for (const QString& composite : composites()) {
        m_composite->addItem(compositeTitle(composite), composite);
    }
    prepare(*m_composite, engine::questionField("composite"));
    grid.addWidget(m_composite, grid.rowCount(), 0, 1, 3);
    connect(m_composite, &QComboBox::currentIndexChanged, this, [this] {
        if (m_rules != nullptr) {
            m_rules->setSpecification(m_composite->currentData().toString());
        }
    });
    connect(m_composite, &QComboBox::activated, this, &RunPanel::questionChanged);
}

QLayout* RunPanel::makeThumbnails()
{
    auto* pictures = new QGridLayout;
    pictures->setSpacing(fonts::px(kGap));
    for (int i = 0; i < 4; ++i) {
        auto* button = new ThumbnailButton(this);
        button->hide();
        connect(button, &ThumbnailButton::clicked, this, [this, button] {
            const QString composite = button->property("composite").toString();
            if (composite != baseOf(m_rules->specification())) {
                m_composite->setCurrentIndex(m_composite->findData(composite));
                m_rules->setSpecification(composite);
            }
            emit askRequested();
        });
        pictures->addWidget(button, i / 2, i % 2);
        pictures->setColumnStretch(i % 2, 1);
        m_thumbnails.push_back(button);
    }
    return pictures;
}

QLayout* RunPanel::makeFoot()
{
    m_run = new QPushButton(this);
    setFilled(*m_run, true);
    connect(m_run, &QPushButton::clicked, this, [this] {
        if (m_isRunning) {
            emit stopRequested();
        } else {
            emit runRequested();
        }
    });
    const int margin = fonts::px(kMargin);
    auto* foot = new QVBoxLayout;
    foot->setContentsMargins(margin, fonts::px(4), margin, margin);
    foot->setSpacing(fonts::px(6));
    foot->addWidget(m_run);
    m_follow = new QCheckBox(tr("Follow the picture while I paint"), this);
    m_follow->setChecked(true);
    m_follow->setToolTip(tr("Explain again with every pixel that is covered; else only with Run"));
    connect(m_follow, &QCheckBox::toggled, this, &RunPanel::followChanged);
    foot->addWidget(m_follow);
    m_note = new QLabel(this);
    m_note->setFont(fonts::label());
    m_note->setForegroundRole(QPalette::WindowText);
    m_note->setWordWrap(true);
    m_note->setTextFormat(Qt::PlainText);
    m_note->hide();
    foot->addWidget(m_note);
    return foot;
}

void RunPanel::addSection(QGridLayout& grid, const QString& title)
{
    auto* label = new ElidedLabel(title, Role::Text, fonts::label(QFont::DemiBold), this);
    label->setContentsMargins(0, fonts::px(6), 0, 0);
    grid.addWidget(label, grid.rowCount(), 0, 1, 3);
}

QLabel* RunPanel::addField(QGridLayout& grid, const engine::QuestionField& asked, QWidget& field, QWidget* extra)
{
    auto* label = new ElidedLabel(translated(asked.title), Role::Text2, fonts::label(), this);
    label->setMinimumWidth(label->sizeHint().width());
    label->setBuddy(&field);
    prepare(field, asked);
    const int row = grid.rowCount();
    grid.addWidget(label, row, 0);
    grid.addWidget(&field, row, 1, 1, extra == nullptr ? 2 : 1);
    if (extra != nullptr) {
        grid.addWidget(extra, row, 2);
    }
    return label;
}

void RunPanel::prepare(QWidget& field, const engine::QuestionField& asked)
{
    field.setAccessibleName(translated(asked.title));
    if (auto* box = qobject_cast<QComboBox*>(&field)) {
        // Its texts may be longer than the panel is wide.
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(kLeastCharacters);
    }
    m_fields.push_back({&field, translated(asked.tip)});
}

QToolButton* RunPanel::makeOpenButton(const QString& tip)
{
    auto* button = new QToolButton(this);
    button->setIcon(icons::icon(QStringLiteral("open")));
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    return button;
}

} // namespace retro::views

#include "moc_runpanel.cpp"
